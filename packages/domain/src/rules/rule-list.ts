import { subtractPeriod } from '../time/index.ts'
import { type RuleRegion, regionOf } from './region.ts'
import { RegionFinder } from './region-finder.ts'
import type { Rule } from './rule.ts'

/** A stretch of time, both ends included. */
interface Swept {
  readonly from: number
  readonly to: number
}

/** Stretches of time, in order and apart from each other. */
export class SweptTimes {
  private readonly stretches: readonly Swept[]

  constructor(swept: readonly Swept[]) {
    const stretches: { from: number; to: number }[] = []
    for (const { from, to } of swept.toSorted((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0))) {
      const last = stretches.at(-1)
      if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
      else stretches.push({ from, to })
    }
    this.stretches = stretches
  }

  /** Whether the time is in one of the stretches. */
  has(time: number): boolean {
    const { stretches } = this
    let [low, high] = [0, stretches.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (stretches[middle]!.to < time) low = middle + 1
      else high = middle
    }
    return low < stretches.length && stretches[low]!.from <= time
  }
}

/** The instants to which a rule compares the ends of a segment and that move with time, as of `now`. */
function movingInstantsOf(rule: Rule, now: number): readonly number[] {
  switch (rule.type) {
    case 'loadByPeriod':
    case 'broadcastByPeriod':
    case 'dropByPeriod':
      return [subtractPeriod(now, rule.period), now]
    case 'dropBeforeByPeriod':
      return [subtractPeriod(now, rule.period)]
    default:
      return []
  }
}

/** The instants to which rules compare starts and ends of segments, without duplicates. */
export interface RuleBounds {
  readonly starts: readonly number[]
  /** A segment that ends at such an instant compares like one that ends before it. */
  readonly ends: readonly number[]
}

/** A list of rules as of one moment, searched in much less time than the list takes to read. */
export class RuleList {
  readonly now: number
  /** Whether the rules apply to the same segments at any moment. */
  readonly isFixed: boolean
  private readonly rules: readonly Rule[]
  private regions: readonly RuleRegion[] | undefined
  private finder: RegionFinder | undefined
  private bounds: RuleBounds | undefined
  private swept: { readonly until: number; readonly times: SweptTimes } | undefined

  constructor(rules: readonly Rule[], now: number) {
    this.rules = rules
    this.now = now
    this.isFixed = !rules.some((rule) => 'period' in rule)
  }

  /** The index of the first rule that applies to a segment from `start` to `end`, or -1. */
  match(start: number, end: number): number {
    this.finder ??= new RegionFinder(this.allRegions())
    return this.finder.firstHolding(start, end)
  }

  /** The instants at which a segment may come under another rule. */
  allBounds(): RuleBounds {
    this.bounds ??= {
      starts: distinct(this.allRegions().flatMap(({ startFrom, startBefore }) => [startFrom, startBefore])),
      ends: distinct(this.allRegions().flatMap(({ endAfter, endUpTo }) => [endAfter, endUpTo])),
    }
    return this.bounds
  }

  /** Where the bounds of the rules pass while time goes from the moment of the list to `now`. */
  sweptUntil(now: number): SweptTimes {
    if (this.swept?.until !== now) {
      const times = this.rules.flatMap((rule) => {
        const after = movingInstantsOf(rule, now)
        return movingInstantsOf(rule, this.now).flatMap((from, index) => {
          const to = after[index]!
          return from === to ? [] : [{ from: Math.min(from, to), to: Math.max(from, to) }]
        })
      })
      this.swept = { until: now, times: new SweptTimes(times) }
    }
    return this.swept.times
  }

  private allRegions(): readonly RuleRegion[] {
    this.regions ??= this.rules.map((rule) => regionOf(rule, this.now))
    return this.regions
  }
}

const distinct = (numbers: readonly number[]): readonly number[] => [...new Set(numbers)]

// Many datasources share the default rules of the cluster, and a list that is not changed is the same object.
const latestLists = new WeakMap<readonly Rule[], RuleList>()

/** The list as of `now` (epoch milliseconds). What was built for a moment is kept until another one is requested. */
export function ruleListAt(rules: readonly Rule[], now: number): RuleList {
  const latest = latestLists.get(rules)
  if (latest !== undefined && (latest.now === now || latest.isFixed)) return latest
  const list = new RuleList(rules, now)
  latestLists.set(rules, list)
  return list
}
