import type { Segment } from '../segment/index.ts'
import type { Interval } from '../time/index.ts'
import type { CompactionState } from './compaction-state.ts'

/** A segment, with the fields that compaction needs. */
export interface CompactionSegment extends Omit<Segment, 'totalRows'> {
  /** Undefined if unknown. */
  readonly totalRows: number | undefined
  /** Undefined if the segment was never compacted. Comparison is faster if equal states share one object. */
  readonly lastCompactionState: CompactionState | undefined
}

/** The visible segments of one interval and version. No two groups have the same interval. */
export interface SegmentGroup {
  readonly interval: Interval
  readonly segments: readonly CompactionSegment[]
}

/** Totals of segments. `intervals` is the number of their distinct intervals. */
export interface CompactionFigures {
  readonly bytes: number
  readonly segments: number
  readonly intervals: number
}

/** The totals if there are no segments. */
export const noFigures: CompactionFigures = { bytes: 0, segments: 0, intervals: 0 }

/** Adds `times` times the second totals to the first. */
export const addFigures = (
  sum: CompactionFigures,
  more: CompactionFigures,
  times = 1,
): CompactionFigures => ({
  bytes: sum.bytes + more.bytes * times,
  segments: sum.segments + more.segments * times,
  intervals: sum.intervals + more.intervals * times,
})

/** Returns the totals of groups, which have different intervals. */
export function figuresOf(groups: readonly SegmentGroup[]): CompactionFigures {
  let bytes = 0
  let segments = 0
  for (const group of groups) {
    segments += group.segments.length
    for (const { sizeBytes } of group.segments) bytes += sizeBytes
  }
  return { bytes, segments, intervals: groups.length }
}
