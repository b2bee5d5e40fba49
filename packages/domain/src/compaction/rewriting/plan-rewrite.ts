import { conflict } from '../../failure/index.ts'
import type { Segment } from '../../segment/index.ts'
import {
  bucketOf,
  contains,
  formatInterval,
  type Granularity,
  type Interval,
  intersection,
  overlaps,
  sameInterval,
} from '../../time/index.ts'
import { analyzeTimeline } from '../../timeline/index.ts'
import { refuse } from '../../validation/index.ts'

/** A segment to read, and the parts of its interval in which it is visible. */
export interface RewriteInput<Input extends Segment> {
  readonly segment: Input
  readonly visible: readonly Interval[]
}

/** The input for the new segments of one interval. */
export interface RewriteBucket<Input extends Segment> {
  readonly interval: Interval
  /** Segments whose visible rows in the interval are read and rewritten. */
  readonly rewritten: readonly RewriteInput<Input>[]
  /** Segments whose files are kept unchanged. */
  readonly kept: readonly Input[]
}

/** The plan of a compaction. */
export interface RewritePlan<Input extends Segment> {
  readonly buckets: readonly RewriteBucket<Input>[]
  /** Sorted ids of all segments that are visible in the interval. The plan is valid as long as they do not change. */
  readonly visibleIds: readonly string[]
}

const maxBuckets = 10_000

/**
 * Plans which segments of an interval are read, and into which intervals they are written: buckets of the granularity,
 * or, without a granularity, their own intervals. With `chosen`, the other segments of a bucket are kept if each of
 * them has exactly the interval of the bucket. `segments` are the used segments of the datasource that overlap the
 * interval. Only the parts within the interval are read and overshadowed. Throws conflict if the interval covers only
 * part of an interval to write, and invalidInput if the granularity results in too many intervals.
 */
export function planRewrite<Input extends Segment>(
  segments: readonly Input[],
  interval: Interval,
  granularity: Granularity | null,
  chosen?: ReadonlySet<string>,
): RewritePlan<Input> {
  const inputs = visibleInputs(segments, interval)
  const intervals = granularity === null ? ownIntervals(inputs) : bucketsOf(inputs, granularity)
  const outside = intervals.find((bucket) => !contains(interval, bucket))
  // Other data in such a bucket would be overshadowed without having been read.
  if (outside) {
    throw conflict(
      `Interval [${formatInterval(interval)}] covers only part of [${formatInterval(outside)}]: expected an interval that covers all of [${formatInterval(outside)}]`,
    )
  }
  const buckets = intervals.flatMap((bucket): RewriteBucket<Input>[] => {
    const within = inputs.flatMap(({ segment, visible }) => {
      const parts = visible.filter((part) => overlaps(part, bucket)).map((part) => intersection(part, bucket))
      return parts.length === 0 ? [] : [{ segment, visible: parts }]
    })
    if (chosen === undefined) return [{ interval: bucket, rewritten: within, kept: [] }]
    const others = within.filter(({ segment }) => !chosen.has(segment.id))
    if (others.length === within.length) return []
    const canStay = others.every(({ segment, visible }) =>
      [segment.interval, ...visible].every((part) => sameInterval(part, bucket)),
    )
    if (!canStay) return [{ interval: bucket, rewritten: within, kept: [] }]
    const rewritten = within.filter(({ segment }) => chosen.has(segment.id))
    return [{ interval: bucket, rewritten, kept: others.map(({ segment }) => segment) }]
  })
  return { buckets, visibleIds: inputs.map(({ segment }) => segment.id).sort() }
}

function visibleInputs<Input extends Segment>(
  segments: readonly Input[],
  interval: Interval,
): RewriteInput<Input>[] {
  const parts = new Map<number, Interval[]>()
  for (const piece of analyzeTimeline(segments).visible) {
    if (!overlaps(piece.interval, interval)) continue
    // Outside the interval, the old version stays visible.
    const part = intersection(piece.interval, interval)
    for (const index of piece.segments) parts.set(index, [...(parts.get(index) ?? []), part])
  }
  return [...parts].map(([index, visible]) => ({ segment: segments[index] as Input, visible }))
}

/** Returns the intervals of the segments. Overlapping intervals are merged. */
function ownIntervals(inputs: readonly RewriteInput<Segment>[]): Interval[] {
  const merged: Interval[] = []
  const sorted = inputs
    .map(({ segment }) => segment.interval)
    .sort((a, b) => a.start - b.start || b.end - a.end)
  for (const interval of sorted) {
    const last = merged.at(-1)
    if (last && overlaps(last, interval)) {
      merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, interval.end) }
    } else merged.push(interval)
  }
  return merged
}

function bucketsOf(inputs: readonly RewriteInput<Segment>[], granularity: Granularity): Interval[] {
  const byStart = new Map<number, Interval>()
  for (const { segment, visible } of inputs) {
    for (const { start, end } of visible) {
      if (granularity !== 'ALL' && !(Number.isFinite(start) && Number.isFinite(end))) {
        throw conflict(
          `Segment [${segment.id}] has an unbounded interval, which cannot be split by segment granularity [${granularity}]: expected segment granularity [ALL]`,
          { segment: segment.id },
        )
      }
      let at = start
      do {
        const bucket = bucketOf(granularity, at)
        byStart.set(bucket.start, bucket)
        if (byStart.size > maxBuckets) {
          throw refuse(
            'granularitySpec.segmentGranularity',
            granularity,
            `a granularity that divides the data into at most [${maxBuckets}] intervals. Use a coarser granularity, or compact a shorter interval`,
          )
        }
        at = bucket.end
      } while (at < end)
    }
  }
  return [...byStart.values()].sort((a, b) => a.start - b.start)
}
