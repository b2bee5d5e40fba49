import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Notice } from './notice.ts'

test('a notice reports names that differ from the last ones', () => {
  const notice = new Notice()
  const calls = [[], ['a'], ['a'], ['a', 'b'], ['b'], [], ['b']]
  assert.deepEqual(
    calls.map((names) => notice.changes(names)),
    [false, true, false, true, true, false, true],
  )
})

test('a notice returns names that the last call did not have', () => {
  const notice = new Notice()
  const calls = [['a'], ['a', 'b'], ['b'], ['a', 'b'], [], ['b']]
  assert.deepEqual(
    calls.map((names) => notice.added(names)),
    [['a'], ['b'], [], ['a'], [], ['b']],
  )
})
