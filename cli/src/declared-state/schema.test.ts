import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { repositoryRoot } from '../home/index.ts'
import { stateSchemaText } from './index.ts'

test('docs/state.schema.json is up to date', () => {
  const stored = readFileSync(path.join(repositoryRoot, 'docs/state.schema.json'), 'utf8')
  assert.equal(stored, stateSchemaText(), 'run ./svc dev docs')
})

test('every section has a description', () => {
  const { properties } = JSON.parse(stateSchemaText()) as {
    properties: Record<
      string,
      { description?: string; properties?: Record<string, { description?: string }> }
    >
  }
  for (const [name, section] of Object.entries(properties)) {
    assert.ok(section.description, name)
    for (const [below, { description }] of Object.entries(name === 'compaction' ? section.properties! : {}))
      assert.ok(description, below)
  }
})
