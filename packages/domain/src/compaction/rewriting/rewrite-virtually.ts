import type { Segment } from '../../segment/index.ts'
import type { PartitionsSpec } from '../../specs/index.ts'
import type { Interval } from '../../time/index.ts'
import { maxRowsPerSegmentOf, targetRowsOf } from './partitions.ts'
import type { RewriteBucket, RewriteInput } from './plan-rewrite.ts'

/** The interval, size, and row count of a virtual segment. */
export interface VirtualSegment {
  readonly interval: Interval
  readonly sizeBytes: number
  readonly totalRows: number
}

/**
 * Calculates the result of rewriting virtual segments. Rows are assumed to be spread evenly over the interval of their
 * segment and are not rolled up, so the totals of rows and bytes stay the same.
 */
export function rewriteVirtually(
  buckets: readonly RewriteBucket<Segment>[],
  partitions: PartitionsSpec,
): VirtualSegment[] {
  return buckets.flatMap(({ interval, rewritten, kept }) => {
    const totalRows = sum(rewritten.map((input) => shownOf(input, input.segment.totalRows)))
    const sizeBytes = sum(rewritten.map((input) => shownOf(input, input.segment.sizeBytes)))
    const parts = rewritten.length === 0 ? 0 : partsOf(partitions, totalRows)
    const segments = Array.from({ length: parts }, (_, part) => ({
      interval,
      totalRows: shareOf(totalRows, part, parts),
      sizeBytes: shareOf(sizeBytes, part, parts),
    }))
    return [
      ...segments,
      ...kept.map(({ totalRows: rows, sizeBytes: bytes }) => ({
        interval,
        totalRows: rows,
        sizeBytes: bytes,
      })),
    ]
  })
}

function partsOf(partitions: PartitionsSpec, rows: number): number {
  const max = maxRowsPerSegmentOf(partitions)
  if (max !== undefined && rows <= max) return 1
  if (partitions.type === 'range') return Math.ceil(rows / targetRowsOf(partitions))
  if (partitions.type === 'hashed' && partitions.numShards !== null)
    return Math.max(1, Math.min(partitions.numShards, rows))
  return max === undefined ? 1 : Math.ceil(rows / max)
}

/** Returns one share of an integer, such that all shares add up to it. */
const shareOf = (total: number, part: number, parts: number): number =>
  Math.floor((total * (part + 1)) / parts) - Math.floor((total * part) / parts)

/** Returns the share of an amount that is in the visible time of a segment; all of it for an unbounded segment. */
function shownOf({ segment: { interval }, visible }: RewriteInput<Segment>, amount: number): number {
  const length = interval.end - interval.start
  if (!Number.isFinite(length)) return amount
  // Rounding positions, not lengths, makes the parts of a split segment add up to the total.
  const until = (instant: number): number => Math.round((amount * (instant - interval.start)) / length)
  return sum(visible.map(({ start, end }) => until(end) - until(start)))
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
