import type { Segment } from '../segment/index.ts'
import type { Interval } from '../time/index.ts'
import type { CompactionState } from './compaction-state.ts'

/** A segment as compaction sees it. */
export interface CompactionSegment extends Omit<Segment, 'totalRows'> {
  /** Undefined where it is not known. */
  readonly totalRows: number | undefined
  /** What it was compacted to; undefined if it never was. Equal states may share one object, which is faster. */
  readonly lastCompactionState: CompactionState | undefined
}

/** The segments of one interval and version, which the timeline shows: no two such groups have the same interval. */
export interface SegmentGroup {
  readonly interval: Interval
  readonly segments: readonly CompactionSegment[]
}

/** Sums over segments. `intervals` counts distinct intervals of segments. */
export interface CompactionFigures {
  readonly bytes: number
  readonly segments: number
  readonly intervals: number
}

/** Nothing at all. */
export const noFigures: CompactionFigures = { bytes: 0, segments: 0, intervals: 0 }

/** The figures of both, `times` times those of the second. */
export const addFigures = (
  sum: CompactionFigures,
  more: CompactionFigures,
  times = 1,
): CompactionFigures => ({
  bytes: sum.bytes + more.bytes * times,
  segments: sum.segments + more.segments * times,
  intervals: sum.intervals + more.intervals * times,
})

/** The figures of groups, which have different intervals. */
export function figuresOf(groups: readonly SegmentGroup[]): CompactionFigures {
  let bytes = 0
  let segments = 0
  for (const group of groups) {
    segments += group.segments.length
    for (const { sizeBytes } of group.segments) bytes += sizeBytes
  }
  return { bytes, segments, intervals: groups.length }
}
