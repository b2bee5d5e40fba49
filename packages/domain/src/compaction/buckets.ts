import { ascending } from '../order/index.ts'
import { sortInSteps } from '../steps/index.ts'
import { bucketOf, type Granularity, type Interval } from '../time/index.ts'
import type { SegmentGroup } from './compaction-segment.ts'

/** Consecutive buckets that overlap the same groups of segments. */
export interface BucketRun {
  readonly interval: Interval
  readonly buckets: number
  readonly groups: readonly SegmentGroup[]
}

// Number of groups between two pauses.
const sliceLength = 2000

/** Returns the interval widened to entire buckets. Intervals with an end at eternity stay unchanged. */
export function widen(interval: Interval, granularity: Granularity): Interval {
  const { start, end } = interval
  if (start === end || !Number.isFinite(start) || !Number.isFinite(end)) return interval
  // The last bucket contains the instant before the end.
  return { start: bucketOf(granularity, start).start, end: bucketOf(granularity, end - 1).end }
}

function countBuckets({ start, end }: Interval, granularity: Granularity): number {
  const first = bucketOf(granularity, Number.isFinite(start) ? start : 0)
  if (first.end >= end) return 1
  if (granularity !== 'MONTH' && granularity !== 'QUARTER' && granularity !== 'YEAR') {
    return Math.round((end - start) / (first.end - first.start))
  }
  let count = 1
  for (let next = first.end; next < end; count++) next = bucketOf(granularity, next).end
  return count
}

/**
 * Returns the buckets that overlap the groups, newest first. A run represents many buckets, so a long segment with a
 * fine granularity takes no more work than a short one. Segments with eternity intervals are allowed only for ALL.
 * Pauses regularly.
 */
export function* bucketRuns(
  groups: readonly SegmentGroup[],
  granularity: Granularity,
): Generator<undefined, BucketRun[]> {
  const widened: { group: SegmentGroup; start: number; end: number }[] = []
  for (const group of groups) {
    const { start, end } = granularity === 'ALL' ? bucketOf('ALL', 0) : widen(group.interval, granularity)
    widened.push({ group, start, end })
    if (widened.length % sliceLength === 0) yield
  }
  const reaches = yield* sortInSteps(widened, (a, b) => ascending(a.start, b.start))
  const ends = new Set<number>()
  for (const { start, end } of reaches) ends.add(start).add(end)
  const cuts = Float64Array.from(ends).sort()
  const runs: BucketRun[] = []
  let active: typeof reaches = []
  let next = 0
  for (let index = 0; index + 1 < cuts.length; index++) {
    if (index % sliceLength === 0) yield
    const interval = { start: cuts[index]!, end: cuts[index + 1]! }
    if (active.length > 0) active = active.filter(({ end }) => end > interval.start)
    while (next < reaches.length && reaches[next]!.start === interval.start) active.push(reaches[next++]!)
    if (active.length === 0) continue
    runs.push({
      interval,
      buckets: countBuckets(interval, granularity),
      groups: active.map(({ group }) => group),
    })
  }
  return runs.reverse()
}
