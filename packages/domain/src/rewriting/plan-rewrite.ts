import { conflict, invalidInput } from '../failure/index.ts'
import type { Segment } from '../segment/index.ts'
import {
  bucketOf,
  contains,
  formatInterval,
  type Granularity,
  type Interval,
  intersection,
  overlaps,
  sameInterval,
} from '../time/index.ts'
import { analyzeTimeline } from '../timeline/index.ts'

/** A segment that is read, and the parts of its interval in which it is visible. */
export interface RewriteInput<Input extends Segment> {
  readonly segment: Input
  readonly visible: readonly Interval[]
}

/** What becomes the segments of one interval. */
export interface RewriteBucket<Input extends Segment> {
  readonly interval: Interval
  /** Their rows are read, as far as they are visible in the interval, and written anew. */
  readonly rewritten: readonly RewriteInput<Input>[]
  /** Their files are taken over as they are. */
  readonly kept: readonly Input[]
}

/** What a compaction reads and writes. */
export interface RewritePlan<Input extends Segment> {
  readonly buckets: readonly RewriteBucket<Input>[]
  /** All segments that are visible in the interval, sorted: as long as they are the same, the plan holds. */
  readonly visibleIds: readonly string[]
}

const mostBuckets = 10_000

/**
 * Which segments of an interval are read and into which intervals they go: into buckets of the granularity, or, without
 * one, into the intervals that they have. With `chosen` only these are read where the others already are what they
 * shall be, that is where each of them has the interval of the bucket for itself. `segments` are the used segments of the
 * datasource that overlap the interval; of one that reaches out of it only the part within is read and hidden. A conflict
 * failure where the interval has only a part of one that would be written, an invalidInput failure where the granularity
 * would make too many.
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
  // What else lies in such a bucket was not read: it would be hidden.
  if (outside) {
    throw conflict(
      `The interval [${formatInterval(interval)}] has a part only of [${formatInterval(outside)}]; expected whole intervals of the granularity`,
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
    // What reaches out of the interval stays visible there, in its old version.
    const part = intersection(piece.interval, interval)
    for (const index of piece.segments) parts.set(index, [...(parts.get(index) ?? []), part])
  }
  return [...parts].map(([index, visible]) => ({ segment: segments[index] as Input, visible }))
}

/** The intervals of the segments; those that overlap become one. */
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
          `Segment [${segment.id}] has no end and cannot be cut into intervals of [${granularity}]; expected ALL`,
          { segment: segment.id },
        )
      }
      let at = start
      do {
        const bucket = bucketOf(granularity, at)
        byStart.set(bucket.start, bucket)
        if (byStart.size > mostBuckets) {
          throw invalidInput(
            `granularitySpec.segmentGranularity has the value [${granularity}], which makes more than [${mostBuckets}] intervals of the segments; expected a coarser one, or a shorter interval`,
            { field: 'granularitySpec.segmentGranularity' },
          )
        }
        at = bucket.end
      } while (at < end)
    }
  }
  return [...byStart.values()].sort((a, b) => a.start - b.start)
}
