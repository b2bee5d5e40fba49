import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DateTime, type DateTimeUnit } from 'luxon'
import {
  bucketOf,
  eternity,
  formatInterval,
  type Granularity,
  granularities,
  parseGranularity,
  parseInstant,
} from './index.ts'

for (const { granularity, expected } of [
  { granularity: 'NONE', expected: '2026-11-21T09:47:31.632Z/2026-11-21T09:47:31.633Z' },
  { granularity: 'SECOND', expected: '2026-11-21T09:47:31.000Z/2026-11-21T09:47:32.000Z' },
  { granularity: 'MINUTE', expected: '2026-11-21T09:47:00.000Z/2026-11-21T09:48:00.000Z' },
  { granularity: 'FIVE_MINUTE', expected: '2026-11-21T09:45:00.000Z/2026-11-21T09:50:00.000Z' },
  { granularity: 'TEN_MINUTE', expected: '2026-11-21T09:40:00.000Z/2026-11-21T09:50:00.000Z' },
  { granularity: 'FIFTEEN_MINUTE', expected: '2026-11-21T09:45:00.000Z/2026-11-21T10:00:00.000Z' },
  { granularity: 'THIRTY_MINUTE', expected: '2026-11-21T09:30:00.000Z/2026-11-21T10:00:00.000Z' },
  { granularity: 'HOUR', expected: '2026-11-21T09:00:00.000Z/2026-11-21T10:00:00.000Z' },
  { granularity: 'SIX_HOUR', expected: '2026-11-21T06:00:00.000Z/2026-11-21T12:00:00.000Z' },
  { granularity: 'EIGHT_HOUR', expected: '2026-11-21T08:00:00.000Z/2026-11-21T16:00:00.000Z' },
  { granularity: 'DAY', expected: '2026-11-21T00:00:00.000Z/2026-11-22T00:00:00.000Z' },
  { granularity: 'WEEK', expected: '2026-11-16T00:00:00.000Z/2026-11-23T00:00:00.000Z' },
  { granularity: 'MONTH', expected: '2026-11-01T00:00:00.000Z/2026-12-01T00:00:00.000Z' },
  { granularity: 'QUARTER', expected: '2026-10-01T00:00:00.000Z/2027-01-01T00:00:00.000Z' },
  { granularity: 'YEAR', expected: '2026-01-01T00:00:00.000Z/2027-01-01T00:00:00.000Z' },
  { granularity: 'ALL', expected: formatInterval(eternity) },
] as const) {
  test(`the ${granularity} bucket of an instant is [${expected}]`, () => {
    assert.equal(formatInterval(bucketOf(granularity, parseInstant('2026-11-21T09:47:31.632Z'))), expected)
  })
}

test('calendar buckets agree with Luxon', () => {
  const units: readonly [Granularity, DateTimeUnit][] = [
    ['HOUR', 'hour'],
    ['DAY', 'day'],
    ['WEEK', 'week'],
    ['MONTH', 'month'],
    ['QUARTER', 'quarter'],
    ['YEAR', 'year'],
  ]
  fc.assert(
    fc.property(
      fc.constantFrom(...units),
      fc.integer({ min: -8e15, max: 8e15 }),
      ([granularity, unit], instantMs) => {
        const at = DateTime.fromMillis(instantMs, { zone: 'utc' })
        const { start, end } = bucketOf(granularity, instantMs)
        assert.equal(start, at.startOf(unit).toMillis())
        assert.equal(end, at.endOf(unit).toMillis() + 1)
      },
    ),
    { numRuns: 2000 },
  )
})

test('buckets contain their instant and leave no gaps', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...granularities),
      fc.integer({ min: -8e15, max: 8e15 }),
      (granularity, instantMs) => {
        const bucket = bucketOf(granularity, instantMs)
        assert.ok(bucket.start <= instantMs && instantMs < bucket.end)
        if (granularity !== 'ALL') assert.equal(bucketOf(granularity, bucket.end).start, bucket.end)
      },
    ),
  )
})

test('only ALL has a bucket for the ends of eternity', () => {
  assert.throws(() => bucketOf('DAY', -Infinity), RangeError)
  assert.equal(bucketOf('ALL', Infinity), eternity)
})

test('ignores the case of granularity names', () => {
  for (const name of granularities) assert.equal(parseGranularity(name.toLowerCase()), name)
  assert.throws(() => parseGranularity('fortnight', 'segmentGranularity'), {
    code: 'invalidInput',
    message: `Invalid value [fortnight] for [segmentGranularity]: expected one of [${granularities.join(', ')}]`,
  })
})
