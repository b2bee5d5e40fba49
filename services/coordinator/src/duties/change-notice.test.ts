import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChangeNotice } from './change-notice.ts'

test('a notice reports names that differ from the last ones', () => {
  const notice = new ChangeNotice()
  const calls = [[], ['a'], ['a'], ['a', 'b'], ['b'], [], ['b']]
  assert.deepEqual(
    calls.map((names) => notice.changes(names)),
    [false, true, false, true, true, false, true],
  )
})

test('a notice returns names that the last call did not have', () => {
  const notice = new ChangeNotice()
  const calls = [['a'], ['a', 'b'], ['b'], ['a', 'b'], [], ['b']]
  assert.deepEqual(
    calls.map((names) => notice.added(names)),
    [['a'], ['b'], [], ['a'], [], ['b']],
  )
})
