import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lackingText } from './recovery-events.ts'

test('says how many segments lack replicas', () => {
  assert.equal(lackingText(1), '1 more segment lacks replicas.')
  assert.equal(lackingText(2000), '2,000 more segments lack replicas.')
})
