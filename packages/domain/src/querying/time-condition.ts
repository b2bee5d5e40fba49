import { eternity, type Interval, intersection, joinIntervals, overlaps } from '../time/index.ts'

/** A condition on the time of rows. Values are milliseconds since the epoch. */
export type TimeCondition =
  | { readonly kind: 'atLeast' | 'atMost'; readonly value: number }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly TimeCondition[] }

/** Returns the times in which rows can satisfy the condition, as sorted disjoint intervals. */
export function timesOf(condition: TimeCondition): Interval[] {
  switch (condition.kind) {
    case 'atLeast':
      return [{ start: condition.value, end: Infinity }]
    case 'atMost':
      // Intervals exclude their end.
      return [{ start: -Infinity, end: condition.value + 1 }]
    case 'and':
      return condition.parts.map(timesOf).reduce(inBoth, [eternity])
    case 'or':
      return joinIntervals(condition.parts.flatMap(timesOf))
  }
}

function inBoth(some: readonly Interval[], others: readonly Interval[]): Interval[] {
  const both: Interval[] = []
  for (const a of some) {
    for (const b of others) {
      const shared = intersection(a, b)
      if (shared.start < shared.end) both.push(shared)
    }
  }
  return both
}

/** Whether an interval overlaps any of the times, which must be sorted and disjoint. Takes logarithmic time. */
export function isWithinAny(times: readonly Interval[], interval: Interval): boolean {
  let low = 0
  let high = times.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((times[middle] as Interval).end > interval.start) high = middle
    else low = middle + 1
  }
  const found = times[low]
  return found !== undefined && overlaps(found, interval)
}
