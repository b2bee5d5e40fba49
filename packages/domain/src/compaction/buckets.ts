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

/** Segments of one interval, and the buckets that it reaches into. */
interface Reach {
  readonly interval: Interval
  readonly start: number
  readonly end: number
  readonly segments: CompactionSegment[]
}

function reachesOf(segments: readonly CompactionSegment[], granularity: Granularity): Reach[] {
  const reaches = new Map<string, Reach>()
  let last: Reach | undefined
  for (const segment of segments) {
    const { interval } = segment
    // Segments come piece by piece: then no text is made for each of them.
    if (last === undefined || last.interval.start !== interval.start || last.interval.end !== interval.end) {
      const key = `${interval.start}/${interval.end}`
      last = reaches.get(key)
      if (last === undefined) {
        const { start, end } = granularity === 'ALL' ? bucketOf('ALL', 0) : widen(interval, granularity)
        last = { interval, start, end, segments: [] }
        reaches.set(key, last)
      }
    }
    last.segments.push(segment)
  }
  return [...reaches.values()].sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0))
}

/**
 * The buckets that segments reach into, newest first. A run stands for many buckets, so that a long segment under a
 * fine granularity takes no more work than a short one. Segments of eternity have buckets of ALL only.
 */
export function bucketRuns(segments: readonly CompactionSegment[], granularity: Granularity): BucketRun[] {
  const reaches = reachesOf(segments, granularity)
  const ends = new Set<number>()
  for (const { start, end } of reaches) ends.add(start).add(end)
  const cuts = [...ends].sort((a, b) => (a < b ? -1 : 1))
  const runs: BucketRun[] = []
  let active: Reach[] = []
  let next = 0
  for (let index = 0; index + 1 < cuts.length; index++) {
    const interval = { start: cuts[index]!, end: cuts[index + 1]! }
    if (active.length > 0) active = active.filter(({ end }) => end > interval.start)
    while (next < reaches.length && reaches[next]!.start === interval.start) active.push(reaches[next++]!)
    if (active.length === 0) continue
    const own = active.length === 1 ? active[0]!.segments : active.flatMap((reach) => reach.segments)
    runs.push({ interval, buckets: countBuckets(interval, granularity), segments: own })
  }
  return runs.reverse()
}
