import { countOf, shortInterval } from '../terminal/index.ts'

/** Adjacent intervals of which the same is true. */
interface MergedIntervals<One> {
  /** The first of them. */
  readonly first: One
  /** The time that they cover, and their number if there are several. */
  readonly text: string
}

/** Merges adjacent intervals of a list, in either order, if `isSame` returns true for two of them. */
export function mergeAdjacent<One extends { readonly interval: string }>(
  list: readonly One[],
  isSame: (one: One, other: One) => boolean,
): MergedIntervals<One>[] {
  const merged: { first: One; start: string; end: string; intervals: number }[] = []
  for (const one of list) {
    const [start, end] = one.interval.split('/') as [string, string]
    const last = merged.at(-1)
    if (last && isSame(last.first, one) && (last.end === start || last.start === end)) {
      if (last.end === start) last.end = end
      else last.start = start
      last.intervals += 1
    } else merged.push({ first: one, start, end, intervals: 1 })
  }
  return merged.map(({ first, start, end, intervals }) => ({
    first,
    text: shortInterval(`${start}/${end}`) + (intervals === 1 ? '' : ` (${countOf(intervals, 'interval')})`),
  }))
}
