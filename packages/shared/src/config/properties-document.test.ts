import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { propertiesDocument } from './properties-document.ts'

test('docs/properties.md is up to date', () => {
  const page = readFileSync(new URL('../../../../docs/properties.md', import.meta.url), 'utf8')
  assert.equal(page, propertiesDocument(), 'run ./svc dev docs')
})
