import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CallbackList } from './callback-list.ts'

test('returns callbacks in the order in which they were added, without removed ones', () => {
  const list = new CallbackList()
  const called: number[] = []
  const remove = [1, 2, 3, 4].map((number) => list.add(() => called.push(number)))
  remove[1]!()
  remove[1]!()
  const callbacks = list.takeAll()
  remove[2]!()
  list.add(() => called.push(5))
  for (const callback of [...callbacks, ...list.takeAll()]) callback()
  assert.deepEqual(called, [1, 3, 4, 5])
  assert.deepEqual(list.takeAll(), [])
})
