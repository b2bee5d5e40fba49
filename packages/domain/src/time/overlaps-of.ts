import { type Interval, overlaps } from './interval.ts'

/**
 * Of each of the intervals, those of the members that overlap it, in the order of the members. Takes as long as there
 * are intervals, members and overlaps, where the intervals do not overlap each other.
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

/** The indexes of intervals, the earliest first. */
function inOrderOfStart(intervals: readonly Interval[]): number[] {
  const startOf = (index: number): number => (intervals[index] as Interval).start
  // No difference: that of two infinities is no number.
  return [...intervals.keys()].sort((a, b) =>
    startOf(a) < startOf(b) ? -1 : startOf(a) > startOf(b) ? 1 : 0,
  )
}
