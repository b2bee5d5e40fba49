import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Segment, segmentId } from '../../segment/index.ts'
import type { PartitionsSpec } from '../../specs/index.ts'
import { eternity, type Interval } from '../../time/index.ts'
import { planRewrite, rewriteVirtually } from './index.ts'

const at = (day: number) => Date.UTC(2026, 0, day)
const days = (first: number, end: number): Interval => ({ start: at(first), end: at(end) })
const month = days(1, 32)

function segment(interval: Interval, totalRows: number, partitionNum = 0): Segment {
  const key = { dataSource: 'a', interval, version: 'v1', partitionNum }
  return { ...key, id: segmentId(key), partitions: 0, sizeBytes: totalRows * 10, totalRows }
}
const dynamic = (maxRowsPerSegment: number): PartitionsSpec => ({
  type: 'dynamic',
  maxRowsPerSegment,
  maxTotalRows: null,
})
const hashed = (numShards: number): PartitionsSpec => ({
  type: 'hashed',
  numShards,
  partitionDimensions: [],
  partitionFunction: 'murmur3_32_abs',
  maxRowsPerSegment: null,
})
const range = (targetRowsPerSegment: number): PartitionsSpec => ({
  type: 'range',
  targetRowsPerSegment,
  maxRowsPerSegment: null,
  partitionDimensions: [],
  assumeGrouped: false,
})

describe('virtual segments', () => {
  const twoDays = [segment(days(1, 2), 60), segment(days(5, 6), 40)]
  const cases: { name: string; partitions: PartitionsSpec; rows: number[] }[] = [
    { name: 'become one segment if the rows fit', partitions: dynamic(100), rows: [100] },
    { name: 'become as many segments as needed', partitions: dynamic(40), rows: [33, 33, 34] },
    { name: 'become the requested number of shards', partitions: hashed(4), rows: [25, 25, 25, 25] },
    { name: 'are split at about the target number of rows', partitions: range(50), rows: [50, 50] },
    { name: 'are not split up to 50% above the target', partitions: range(70), rows: [100] },
  ]
  for (const { name, partitions, rows } of cases) {
    it(name, () => {
      const rewritten = rewriteVirtually(planRewrite(twoDays, month, 'MONTH').buckets, partitions)
      assert.deepEqual(
        rewritten.map(({ totalRows }) => totalRows),
        rows,
      )
      assert.deepEqual(new Set(rewritten.map(({ interval }) => interval)), new Set([month]))
    })
  }

  it('count completely if their interval is eternity', () => {
    const { buckets } = planRewrite([segment(eternity, 7)], eternity, 'ALL')
    assert.deepEqual(rewriteVirtually(buckets, dynamic(10)), [
      { interval: eternity, totalRows: 7, sizeBytes: 70 },
    ])
  })

  it('are kept next to rewritten ones if only some are chosen', () => {
    const stored = [segment(month, 60), segment(month, 30, 1), segment(month, 5, 2)]
    const { buckets } = planRewrite(stored, month, 'MONTH', new Set(stored.slice(1).map(({ id }) => id)))
    assert.deepEqual(
      rewriteVirtually(buckets, dynamic(100)).map(({ totalRows }) => totalRows),
      [35, 60],
    )
  })

  it('keep their total rows and bytes however they are split', () => {
    const spans = fc.record({
      start: fc.integer({ min: 1, max: 30 }),
      length: fc.integer({ min: 1, max: 9 }),
      rows: fc.nat(1000),
    })
    fc.assert(
      fc.property(
        fc.array(spans, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 50 }),
        (given, max) => {
          const stored = given.map(({ start, length, rows }, index) =>
            segment(days(start, Math.min(start + length, 32)), rows, index),
          )
          // Use disjoint intervals only, because overlapping ones of one version are not all visible.
          const apart = stored.filter(({ interval }, index) =>
            stored
              .slice(0, index)
              .every((other) => other.interval.end <= interval.start || other.interval.start >= interval.end),
          )
          const rewritten = rewriteVirtually(planRewrite(apart, month, 'DAY').buckets, dynamic(max))
          const total = (list: readonly { totalRows: number; sizeBytes: number }[]) =>
            list.reduce(
              ([rows, bytes], one) => [rows + one.totalRows, bytes + one.sizeBytes] as [number, number],
              [0, 0] as [number, number],
            )
          assert.deepEqual(total(rewritten), total(apart))
          assert.ok(rewritten.every(({ totalRows }) => totalRows <= max))
        },
      ),
    )
  })
})
