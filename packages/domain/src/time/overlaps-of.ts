import { ascending } from '../order/index.ts'
import { type Interval, overlaps } from './interval.ts'

/**
 * Returns, for each interval, the members that overlap it, in their original order. If the intervals do not overlap
 * each other, the time is roughly linear in the number of intervals, members, and overlaps.
 */
export function overlapsOf<Member extends { readonly interval: Interval }>(
  intervals: readonly Interval[],
  members: readonly Member[],
): Member[][] {
  const found: Member[][] = intervals.map(() => [])
  const waiting = inOrderOfStart(members.map(({ interval }) => interval))
  const intervalOf = (member: number): Interval => (members[member] as Member).interval
  let active: number[] = []
  let next = 0
  for (const index of inOrderOfStart(intervals)) {
    const interval = intervals[index] as Interval
    active = active.filter((member) => intervalOf(member).end > interval.start)
    for (; next < waiting.length; next++) {
      const member = waiting[next] as number
      if (intervalOf(member).start >= interval.end) break
      active.push(member)
    }
    found[index] = active
      .filter((member) => overlaps(intervalOf(member), interval))
      .sort((a, b) => a - b)
      .map((member) => members[member] as Member)
  }
  return found
}

/** Returns the indexes of the intervals, earliest first. */
function inOrderOfStart(intervals: readonly Interval[]): number[] {
  const startOf = (index: number): number => (intervals[index] as Interval).start
  // Compare instead of subtracting: the difference of two infinities is NaN.
  return [...intervals.keys()].sort((a, b) => ascending(startOf(a), startOf(b)))
}
