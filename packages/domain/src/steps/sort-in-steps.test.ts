import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { finish, sortInSteps } from './index.ts'

test('sorts like Array.sort, and keeps the order of equal items', () => {
  const lists = fc.oneof(
    fc.array(fc.nat(20)),
    fc
      .tuple(fc.integer({ min: 1, max: 997 }), fc.integer({ min: 4000, max: 20_000 }))
      .map(([factor, length]) => Array.from({ length }, (_, index) => (index * factor) % 1000)),
  )
  fc.assert(
    fc.property(lists, (keys) => {
      const items = keys.map((key, index) => ({ key, index }))
      const byKey = (a: { key: number }, b: { key: number }) => a.key - b.key
      assert.deepEqual(finish(sortInSteps(items, byKey)), items.toSorted(byKey))
    }),
    { numRuns: 100 },
  )
})
