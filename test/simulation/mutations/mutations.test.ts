import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { mutations } from './mutations.ts'

test('the source contains the text of each mutation once', () => {
  for (const { what, file, find } of mutations) {
    const source = readFileSync(path.join(repositoryRoot, file), 'utf8')
    assert.equal(source.split(find).length - 1, 1, what)
  }
})
