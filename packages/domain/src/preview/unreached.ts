import { ascending } from '../order/index.ts'
import {
  appliesToEverything,
  isInRegion,
  RegionFinder,
  type Rule,
  type RuleRegion,
  regionOf,
  regionTypeOf,
} from '../rules/index.ts'
import { addPeriod, formatPeriod, type Period, periodOf } from '../time/index.ts'

/** A rule that can never apply to a segment, now or later. */
export interface UnreachedRule {
  readonly index: number
  /** Earlier rules that apply to everything that it applies to. Empty if it applies to nothing by itself. */
  readonly hiddenBy: readonly number[]
}

// Maximum number of comparisons to find rules that several rules hide together. They take tens of milliseconds.
const maxComparisons = 10_000_000
// Maximum number of searches (one per rule and time) to find rules that one rule hides. They take about 100 ms.
const maxSearches = 100_000
// Number of searches between two pauses.
const slice = 1000

const year = periodOf('P1Y') as Period
const noTime = periodOf('PT0S') as Period

// Four years, in steps that cover every day of a month and every part of a day.
const hoursAhead = Array.from({ length: 110 }, (_, step) => (step + 1) * (13 * 24 + 7))

/**
 * Returns the rules that are never reached at `now` or later, in the order of the list. Only the order of rule bounds
 * matters, so it is enough to check times between which no bound passes another. In lists of any length, finds rules
 * after a rule that applies to everything, and rules that a single earlier rule hides, unless bounds pass each other
 * too often. Finds rules that several rules hide together only in short lists. Yields regularly.
 */
export function* findUnreachedRules(
  rules: readonly Rule[],
  now: number,
): Generator<undefined, UnreachedRule[]> {
  const last = rules.findIndex(appliesToEverything)
  const reachable = last < 0 ? rules : rules.slice(0, last + 1)
  const behind = rules
    .slice(reachable.length)
    .map((_, offset) => ({ index: reachable.length + offset, hiddenBy: [last] }))
  const hidden = yield* findHiddenByOne(reachable, now)
  // A rule that another rule hides never decides, so removing it does not change which of the others are hidden.
  const hiddenIndexes = new Set(hidden.map(({ index }) => index))
  const others = [...reachable.keys()].filter((index) => !hiddenIndexes.has(index))
  const together = yield* findHiddenTogether(
    others.map((index) => reachable[index]!),
    now,
  )
  for (const { index, hiddenBy } of together)
    hidden.push({ index: others[index]!, hiddenBy: hiddenBy.map((at) => others[at]!) })
  return [...hidden.sort((a, b) => a.index - b.index), ...behind]
}

/** Returns the rules that a single earlier rule hides, with the first such rule. */
function* findHiddenByOne(rules: readonly Rule[], now: number): Generator<undefined, UnreachedRule[]> {
  const moments = momentsOf(rules, now)
  if (moments !== undefined && moments.length * rules.length <= maxSearches)
    return yield* findCovered(rules, moments)
  // Interval rules never move, so one point in time is enough for them. Equal periods never pass each other.
  const fixed = [...rules.keys()].filter((index) => !('period' in rules[index]!))
  const covered = yield* findCovered(
    fixed.map((index) => rules[index]!),
    [now],
  )
  const found = covered.map(({ index, hiddenBy }) => ({
    index: fixed[index]!,
    hiddenBy: hiddenBy.map((at) => fixed[at]!),
  }))
  const firstByPeriod = new Map<string, number>()
  for (const [index, rule] of rules.entries()) {
    if (!('period' in rule)) continue
    const key = periodKeyOf(rule)
    const first = firstByPeriod.get(key)
    if (first === undefined) firstByPeriod.set(key, index)
    else found.push({ index, hiddenBy: [first] })
  }
  return found
}

/** Returns a key that is the same for period rules that always apply to the same segments. */
function periodKeyOf(rule: Extract<Rule, { period: Period }>): string {
  return `${regionTypeOf(rule.type)}/${formatPeriod(rule.period)}/${'includeFuture' in rule && rule.includeFuture}`
}

/** Returns the rules that the same earlier rule covers at every given time. */
function* findCovered(
  rules: readonly Rule[],
  moments: readonly number[],
): Generator<undefined, UnreachedRule[]> {
  const regionsAt: RuleRegion[][] = []
  for (const moment of moments) {
    regionsAt.push(rules.map((rule) => regionOf(rule, moment)))
    yield
  }
  const finders = regionsAt.map((regions) => new RegionFinder(regions))
  const found: UnreachedRule[] = []
  let searches = 0
  for (const index of rules.keys()) {
    // Skips times when the rule applies to nothing, because any rule covers it then.
    const at = moments.flatMap((_, place) => {
      const region = tightened(regionsAt[place]![index]!)
      return region === undefined ? [] : [{ region, finder: finders[place]! }]
    })
    if (at.length === 0) {
      found.push({ index, hiddenBy: [] })
      continue
    }
    let candidate = 0
    for (let agreed = 0, place = 0; agreed < at.length && candidate < index; place += 1) {
      const { region, finder } = at[place % at.length]!
      const next = finder.firstCovering(region, candidate)
      agreed = next === candidate ? agreed + 1 : 1
      candidate = next
      searches += 1
      if (searches % slice === 0) yield
    }
    if (candidate < index) found.push({ index, hiddenBy: [candidate] })
    // Only lists in which many rules are covered by different rules at different times take this long.
    if (searches > 4 * maxSearches) break
  }
  return found
}

/**
 * Returns the region with tighter bounds, because a start is always before its end. A region that covers the result
 * covers all segments in it. Returns undefined if the region is empty.
 */
function tightened({ startFrom, startBefore, endAfter, endUpTo }: RuleRegion): RuleRegion | undefined {
  const region = {
    startFrom,
    startBefore: Math.min(startBefore, endUpTo),
    endAfter: Math.max(endAfter, startFrom),
    endUpTo,
  }
  return region.startFrom < region.startBefore && region.endAfter < region.endUpTo ? region : undefined
}

/** Returns the rules that no segment reaches, with the rules that apply to their segments instead. */
function* findHiddenTogether(rules: readonly Rule[], now: number): Generator<undefined, UnreachedRule[]> {
  const moments = momentsOf(rules, now)
  if (moments === undefined) return []
  const places = instantsOf(rules.map((rule) => regionOf(rule, now))).length
  if ((moments.length * places * places * rules.length) / 2 > maxComparisons) return []
  const reached = new Uint8Array(rules.length)
  for (const moment of moments) {
    const regions = rules.map((rule) => regionOf(rule, moment))
    const finder = new RegionFinder(regions)
    yield* visitPlaces(regions, (start, end) => {
      const first = finder.firstHolding(start, end)
      if (first >= 0) reached[first] = 1
    })
  }
  const unreached = [...rules.keys()].filter((index) => reached[index] === 0)
  if (unreached.length === 0) return []
  const instead = unreached.map(() => new Set<number>())
  for (const moment of moments) {
    const regions = rules.map((rule) => regionOf(rule, moment))
    const finder = new RegionFinder(regions)
    yield* visitPlaces(regions, (start, end) => {
      for (const [at, index] of unreached.entries())
        if (isInRegion(regions[index]!, start, end)) instead[at]!.add(finder.firstHolding(start, end))
    })
  }
  return unreached.map((index, at) => ({ index, hiddenBy: [...instead[at]!].sort((a, b) => a - b) }))
}

/** Returns the instants at, before, and after each bound of the regions, sorted, and both ends of eternity. */
function instantsOf(regions: readonly RuleRegion[]): number[] {
  const bounds = regions.flatMap(({ startFrom, startBefore, endAfter, endUpTo }) => [
    startFrom,
    startBefore,
    endAfter,
    endUpTo,
  ])
  const finite = [...new Set(bounds)].filter((bound) => Math.abs(bound) < Number.MAX_VALUE)
  const first = finite.reduce((min, bound) => Math.min(min, bound), 0)
  const instants = new Set([-Infinity, Infinity, first - 2, first - 1])
  for (const bound of finite) for (const offset of [0, 1, 2]) instants.add(bound + offset)
  return [...instants].sort(ascending)
}

/** Calls `visit` with a segment for every position relative to the bounds of the regions. Yields regularly. */
function* visitPlaces(
  regions: readonly RuleRegion[],
  visit: (start: number, end: number) => void,
): Generator<undefined, void> {
  const instants = instantsOf(regions)
  for (let from = 0; from < instants.length - 1; from += 1) {
    yield
    for (let to = from + 1; to < instants.length; to += 1) visit(instants[from]!, instants[to]!)
  }
}

/**
 * Returns `now` and later times between which rule bounds keep their order: a moving bound passes a fixed bound one
 * period after it. Months differ in length, so periods of similar length are also compared at the ends of months.
 * Returns undefined if there are too many such times.
 */
function momentsOf(rules: readonly Rule[], now: number): number[] | undefined {
  const fixed = new Set<number>()
  const periods = new Map<string, Period>()
  for (const rule of rules) {
    if ('interval' in rule) for (const end of [rule.interval.start, rule.interval.end]) fixed.add(end)
    if ('period' in rule) periods.set(formatPeriod(rule.period), rule.period)
    if ('includeFuture' in rule && !rule.includeFuture) periods.set(formatPeriod(noTime), noTime)
  }
  if (periods.size === 0) return [now]
  if (fixed.size * periods.size > maxSearches) return undefined
  const passed = [...fixed]
    .flatMap((bound) => [...periods.values()].map((period) => addPeriod(bound, period)))
    .filter((moment) => moment > now && Number.isFinite(moment))
    .sort((a, b) => a - b)
  const moments = [now]
  let previous = now
  for (const moment of passed) {
    if (moment - previous > 1) moments.push(Math.floor((previous + moment) / 2))
    previous = moment
  }
  moments.push(addPeriod(previous, year))
  const withMonths = [...periods.values()].filter(({ years, months }) => years + months > 0)
  if (withMonths.length > 0 && periods.size > 1) {
    for (const hours of hoursAhead) moments.push(now + hours * 3_600_000)
  }
  return moments
}
