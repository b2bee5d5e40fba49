import { bucketOf, type Granularity, type Interval } from '../time/index.ts'
import type { CompactionSegment } from './compaction-segment.ts'

/** Consecutive buckets that the same segments reach into. */
export interface BucketRun {
  readonly interval: Interval
  readonly buckets: number
  readonly segments: readonly CompactionSegment[]
}

/** The interval widened to whole buckets. An end of eternity stays as it is. */
export function widen(interval: Interval, granularity: Granularity): Interval {
  const { start, end } = interval
  if (start === end || !Number.isFinite(start) || !Number.isFinite(end)) return interval
  // The last bucket holds the instant before the end.
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
 * The buckets that segments reach into, newest first. A run stands for many buckets, so that a long segment under a
 * fine granularity takes no more work than a short one. Segments of eternity have buckets of ALL only.
 */
export function bucketRuns(segments: readonly CompactionSegment[], granularity: Granularity): BucketRun[] {
  const widened = new Map<string, Interval>()
  const reaches = segments.map((segment) => {
    const { interval } = segment
    if (granularity === 'ALL') return { segment, reach: bucketOf('ALL', 0) }
    const key = `${interval.start}/${interval.end}`
    let reach = widened.get(key)
    if (reach === undefined) {
      reach = widen(interval, granularity)
      widened.set(key, reach)
    }
    return { segment, reach }
  })
  reaches.sort((a, b) => (a.reach.start < b.reach.start ? -1 : a.reach.start > b.reach.start ? 1 : 0))
  const ends = [...new Set(reaches.flatMap(({ reach }) => [reach.start, reach.end]))].sort((a, b) =>
    a < b ? -1 : 1,
  )
  const runs: BucketRun[] = []
  let active: typeof reaches = []
  let next = 0
  for (let index = 0; index + 1 < ends.length; index++) {
    const interval = { start: ends[index]!, end: ends[index + 1]! }
    if (active.length > 0) active = active.filter(({ reach }) => reach.end > interval.start)
    while (next < reaches.length && reaches[next]!.reach.start === interval.start)
      active.push(reaches[next++]!)
    if (active.length === 0) continue
    runs.push({
      interval,
      buckets: countBuckets(interval, granularity),
      segments: active.map(({ segment }) => segment),
    })
  }
  return runs.reverse()
}
