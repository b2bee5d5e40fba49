import type { RuleBoundaries } from '@svc/domain/rules'

/** A band of the time axis in which one rule applies. */
export interface RuleBand {
  readonly start: number
  readonly end: number
  /** Number of the rule: first those of the datasource, then the cluster defaults, then the built-in last rule. */
  readonly index: number
}

// Bands that are narrower than a pixel cannot be seen, and drawing 10,000 of them takes seconds.
const maxBands = 2000

/** Returns which rule applies when, to short segments, in a part of the time axis. Leaves out bands that are too narrow to be seen. */
export function ruleBands(
  boundaries: RuleBoundaries,
  { start, end }: { readonly start: number; readonly end: number },
): RuleBand[] {
  const instants = boundaries
    .bounds()
    .flatMap(({ starts, ends }) => [...starts, ...ends])
    .filter((instant) => instant > start && instant < end)
    .sort((a, b) => a - b)
  const minWidth = (end - start) / maxBands
  const cuts = [start]
  for (const instant of instants) if (instant - cuts.at(-1)! >= minWidth) cuts.push(instant)
  const bands: RuleBand[] = []
  for (const [at, from] of cuts.entries()) {
    const to = cuts[at + 1] ?? end
    const middle = Math.floor((from + to) / 2)
    const index = boundaries.match({ start: middle, end: middle + 1 })
    const last = bands.at(-1)
    if (last?.index === index) bands[bands.length - 1] = { ...last, end: to }
    else bands.push({ start: from, end: to, index })
  }
  return bands
}
