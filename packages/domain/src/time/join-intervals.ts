import { ascending } from '../order/index.ts'
import type { Interval } from './interval.ts'

/** Returns the union of intervals as sorted intervals that neither overlap nor touch. Empty intervals are left out. */
export function joinIntervals(intervals: readonly Interval[]): Interval[] {
  const joined: { start: number; end: number }[] = []
  const sorted = intervals
    .filter(({ start, end }) => start < end)
    // Not by their difference, which is NaN if both start in eternity.
    .sort((a, b) => ascending(a.start, b.start))
  for (const { start, end } of sorted) {
    const last = joined.at(-1)
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end)
    else joined.push({ start, end })
  }
  return joined
}
