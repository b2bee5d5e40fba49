import type { RuleBoundaries, RuleBounds } from '../rules/index.ts'
import type { SegmentColumns } from './segments.ts'

/** Neighbouring segments under one rule: positions from `from` up to `to`, `to` excluded. */
export interface Stretch {
  readonly from: number
  to: number
  /** The number of the rule. */
  readonly rule: number
}

// Searches for a rule or a position between two pauses.
const slice = 4096

/**
 * Which rule each segment falls under, as stretches in the order of positions; pauses now and then. It is enough to look
 * where starts or ends pass a bound of a rule: between two such places all segments compare alike with every rule.
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
    // Each segment of a short chain is looked at by itself, so a long list costs no more than the segments do.
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

/** The positions after each segment of a chain. */
function* positionsOf(from: number, to: number): Generator<number, void> {
  for (let position = from + 1; position <= to; position += 1) yield position
}

/** The positions of one chain at which the comparison with some rule may change, without its start but with its end. */
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
