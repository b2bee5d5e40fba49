import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepFor } from './index.ts'

const hourMs = 3_600_000

test('an answer is shared while it is loaded, and kept afterward', async () => {
  let loads = 0
  const answer = keepFor(hourMs, async () => ++loads)
  assert.deepEqual(await Promise.all([answer(), answer()]), [1, 1])
  assert.equal(await answer(), 1)
})

test('an old answer and a failure are not kept', async () => {
  let loads = 0
  const old = keepFor(0, async () => ++loads)
  assert.deepEqual([await old(), await old()], [1, 2])
  const failing = keepFor(hourMs, async () => {
    loads += 1
    throw new Error('unavailable')
  })
  for (const expected of [3, 4]) {
    await assert.rejects(failing(), /unavailable/)
    assert.equal(loads, expected)
  }
})
