import { isInRegion, type RuleRegion } from '../rules/index.ts'
import type { SegmentColumns } from './segments.ts'

/** Neighbouring segments under one rule: positions from `from` up to `to`, `to` excluded. */
export interface Stretch {
  readonly from: number
  readonly to: number
  /** The index of the rule; what no rule applies to has the number of rules. */
  readonly rule: number
}

// Comparisons of a stretch with a rule between two pauses.
const slice = 65_536

/**
 * Which rule each segment falls under, as stretches in the order of positions. It is enough to look where starts or
 * ends pass a bound of a rule: between two such places all segments compare alike with every rule.
 */
export function* stretchesOf(
  columns: SegmentColumns,
  regions: readonly RuleRegion[],
): Generator<undefined, Stretch[]> {
  const bounds = boundsOf(regions)
  const stretches: Stretch[] = []
  let compared = 0
  let chainStart = 0
  for (const chainEnd of columns.chainEnds) {
    const cuts = cutsOf(columns, bounds, chainStart, chainEnd)
    for (let at = 0; at + 1 < cuts.length; at += 1) {
      const from = cuts[at]!
      const to = cuts[at + 1]!
      const rule = firstRule(regions, columns.starts[from]!, columns.ends[from]!)
      const previous = stretches.at(-1)
      if (previous?.rule === rule && from > chainStart) stretches[stretches.length - 1] = { ...previous, to }
      else stretches.push({ from, to, rule })
      compared += rule + 1
      if (compared > slice) {
        compared = 0
        yield
      }
    }
    chainStart = chainEnd
  }
  return stretches
}

/** The index of the first region that holds a segment, or the number of regions. */
export function firstRule(regions: readonly RuleRegion[], start: number, end: number): number {
  let index = 0
  while (index < regions.length && !isInRegion(regions[index]!, start, end)) index += 1
  return index
}

interface Bounds {
  readonly starts: readonly number[]
  /** Bounds of ends that belong to what lies before them: the cut comes after the ends that are equal. */
  readonly ends: readonly number[]
}

function boundsOf(regions: readonly RuleRegion[]): Bounds {
  return {
    starts: [...new Set(regions.flatMap(({ startFrom, startBefore }) => [startFrom, startBefore]))],
    ends: [...new Set(regions.flatMap(({ endAfter, endUpTo }) => [endAfter, endUpTo]))],
  }
}

/** The positions of one chain at which the comparison with some rule may change, both ends of the chain included. */
function cutsOf({ starts, ends }: SegmentColumns, bounds: Bounds, from: number, to: number): number[] {
  const cuts = new Set([from, to])
  for (const bound of bounds.starts) cuts.add(lowerBound(starts, bound, from, to))
  for (const bound of bounds.ends) cuts.add(upperBound(ends, bound, from, to))
  return [...cuts].sort((a, b) => a - b)
}

/** The first position whose value is not below the bound. */
function lowerBound(values: Float64Array, bound: number, from: number, to: number): number {
  let low = from
  let high = to
  while (low < high) {
    const middle = (low + high) >>> 1
    if (values[middle]! < bound) low = middle + 1
    else high = middle
  }
  return low
}

/** The first position whose value is above the bound. */
function upperBound(values: Float64Array, bound: number, from: number, to: number): number {
  let low = from
  let high = to
  while (low < high) {
    const middle = (low + high) >>> 1
    if (values[middle]! <= bound) low = middle + 1
    else high = middle
  }
  return low
}
