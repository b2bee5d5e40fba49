import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { eternity, overlaps, overlapsOf } from './index.ts'

const instant = fc.integer({ min: 0, max: 12 })
// Includes empty and unbounded intervals.
const interval = fc.oneof(
  fc.tuple(instant, instant).map(([a, b]) => ({ start: Math.min(a, b), end: Math.max(a, b) })),
  instant.map((start) => ({ ...eternity, start })),
  instant.map((end) => ({ ...eternity, end })),
  fc.constant(eternity),
)
const member = interval.map((own) => ({ interval: own }))

test('overlapsOf finds the same members as checking each interval alone, in the same order', () => {
  fc.assert(
    fc.property(fc.array(interval), fc.array(member), (intervals, members) => {
      assert.deepEqual(
        overlapsOf(intervals, members).map((found) => found.map((one) => members.indexOf(one))),
        intervals.map((one) =>
          members.flatMap((other, index) => (overlaps(other.interval, one) ? [index] : [])),
        ),
      )
    }),
    { numRuns: 1000 },
  )
})
