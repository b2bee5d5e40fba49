import { type Interval, joinIntervals } from '../time/index.ts'

/** The union of intervals as sorted disjoint intervals, with a fast overlap test. */
export class IntervalUnion {
  readonly intervals: readonly Interval[]

  constructor(intervals: readonly Interval[]) {
    this.intervals = joinIntervals(intervals)
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
