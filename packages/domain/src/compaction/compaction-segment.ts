import type { Segment } from '../segment/index.ts'
import { sameInterval } from '../time/index.ts'
import type { CompactionState } from './compaction-state.ts'

/** A segment as compaction sees it. */
export interface CompactionSegment extends Omit<Segment, 'totalRows'> {
  /** Undefined where it is not known. */
  readonly totalRows: number | undefined
  /** What it was compacted to; undefined if it never was. Equal states may share one object, which is faster. */
  readonly lastCompactionState: CompactionState | undefined
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

/** The figures of segments. */
export function figuresOf(segments: readonly CompactionSegment[]): CompactionFigures {
  const [first] = segments
  if (first === undefined) return noFigures
  let bytes = 0
  // Nearly always all of them have one interval: then no set is made.
  let isOne = true
  for (const { interval, sizeBytes } of segments) {
    bytes += sizeBytes
    isOne &&= sameInterval(interval, first.interval)
  }
  const intervals = isOne
    ? 1
    : new Set(segments.map(({ interval: { start, end } }) => `${start}/${end}`)).size
  return { bytes, segments: segments.length, intervals }
}
