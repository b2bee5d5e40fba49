import type { Interval } from '../time/index.ts'

/** Intervals melted into disjoint ones, to be asked what overlaps any of them. */
export class IntervalUnion {
  readonly intervals: readonly Interval[]

  constructor(intervals: readonly Interval[]) {
    const melted: { start: number; end: number }[] = []
    for (const { start, end } of intervals.toSorted((a, b) =>
      a.start < b.start ? -1 : a.start > b.start ? 1 : 0,
    )) {
      const last = melted.at(-1)
      if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end)
      else melted.push({ start, end })
    }
    this.intervals = melted
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
