import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConcurrencyLimit } from './index.ts'

test('at most as many pieces of work run at a time as the limit allows, in the order of the calls', async () => {
  const limit = createConcurrencyLimit(2)
  const started: number[] = []
  const ends: (() => void)[] = []
  const all = [0, 1, 2, 3].map((number) =>
    limit(async () => {
      started.push(number)
      await new Promise<void>((resolve) => ends.push(resolve))
      return number
    }),
  )
  await Promise.resolve()
  assert.deepEqual(started, [0, 1])
  ends[1]!()
  assert.equal(await all[1], 1)
  assert.deepEqual(started, [0, 1, 2])
  ends[0]!()
  await all[0]
  assert.deepEqual(started, [0, 1, 2, 3])
  ends[2]!()
  ends[3]!()
  assert.deepEqual(await Promise.all(all), [0, 1, 2, 3])
})

test('the next work starts after one that fails', async () => {
  const limit = createConcurrencyLimit(1)
  const failed = limit(() => Promise.reject(new Error('no')))
  const next = limit(async () => 'done')
  await assert.rejects(failed, /^Error: no$/)
  assert.equal(await next, 'done')
})
