import type { Interval } from '../time/index.ts'

/** The union of intervals as sorted disjoint intervals, with a fast overlap test. */
export class IntervalUnion {
  readonly intervals: readonly Interval[]

  constructor(intervals: readonly Interval[]) {
    const merged: { start: number; end: number }[] = []
    for (const { start, end } of intervals.toSorted((a, b) =>
      a.start < b.start ? -1 : a.start > b.start ? 1 : 0,
    )) {
      const last = merged.at(-1)
      if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end)
      else merged.push({ start, end })
    }
    this.intervals = merged
  }

  overlaps(start: number, end: number): boolean {
    const { intervals } = this
    let [low, high] = [0, intervals.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (intervals[middle]!.end <= start) low = middle + 1
      else high = middle
    }
    return low < intervals.length && intervals[low]!.start < end
  }
}
