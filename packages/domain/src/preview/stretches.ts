import type { RuleBoundaries, RuleBounds } from '../rules/index.ts'
import type { SegmentColumns } from './segments.ts'
import { lowerBound, upperBound } from './sorted.ts'

/** Consecutive segments with the same rule: positions from `from` (inclusive) to `to` (exclusive). */
export interface Stretch {
  readonly from: number
  to: number
  /** Number of the rule. */
  readonly rule: number
}

// Number of searches for a rule or a position between two pauses.
const slice = 4096

/**
 * Returns which rule applies to each segment, as ranges in the order of positions. Yields regularly. The rule can
 * change only where a start or an end passes a rule bound: between two such positions, all segments match the same
 * rules.
 */
export function* stretchesOf(
  columns: SegmentColumns,
  boundaries: RuleBoundaries,
): Generator<undefined, Stretch[]> {
  const bounds = boundaries.bounds()
  const boundCount = bounds.reduce((sum, { starts, ends }) => sum + starts.length + ends.length, 0)
  const stretches: Stretch[] = []
  let searched = 0
  let chainStart = 0
  for (const chainEnd of columns.chainEnds) {
    // Matches each segment of a short chain by itself, so the cost of a long rule list depends only on the segments.
    const isShort = chainEnd - chainStart <= boundCount
    const cuts = isShort ? positionsOf(chainStart, chainEnd) : cutsOf(columns, bounds, chainStart, chainEnd)
    if (!isShort) searched += boundCount
    let at = chainStart
    for (const cut of cuts) {
      const rule = boundaries.match({ start: columns.starts[at]!, end: columns.ends[at]! })
      const previous = stretches.at(-1)
      if (previous?.rule === rule && at > chainStart) previous.to = cut
      else stretches.push({ from: at, to: cut, rule })
      at = cut
      searched += 1
      if (searched >= slice) {
        searched = 0
        yield
      }
    }
    chainStart = chainEnd
  }
  return stretches
}

/** Yields the position after each segment of a chain. */
function* positionsOf(from: number, to: number): Generator<number, void> {
  for (let position = from + 1; position <= to; position += 1) yield position
}

/** Returns the positions in a chain where the matching rules may change, including its end but not its start. */
function cutsOf(
  { starts, ends }: SegmentColumns,
  bounds: readonly RuleBounds[],
  from: number,
  to: number,
): number[] {
  const cuts = new Set([to])
  for (const ofList of bounds) {
    for (const bound of ofList.starts) cuts.add(lowerBound(starts, bound, from, to))
    for (const bound of ofList.ends) cuts.add(upperBound(ends, bound, from, to))
  }
  cuts.delete(from)
  return [...cuts].sort((a, b) => a - b)
}
