import { ascending } from '../order/index.ts'
import type { RuleRegion } from './region.ts'
import { RegionFinder } from './region-finder.ts'
import { type Rule, regionOf } from './rule-types.ts'

/** A time range, both ends inclusive. */
interface Swept {
  readonly from: number
  readonly to: number
}

/** Disjoint time ranges in order. */
export class SweptTimes {
  private readonly stretches: readonly Swept[]

  constructor(swept: readonly Swept[]) {
    const stretches: { from: number; to: number }[] = []
    for (const { from, to } of swept.toSorted((a, b) => ascending(a.from, b.from))) {
      const last = stretches.at(-1)
      if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
      else stretches.push({ from, to })
    }
    this.stretches = stretches
  }

  /** Returns whether a time is in one of the ranges. */
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

/** Distinct instants that rules compare with the starts and ends of segments. */
export interface RuleBounds {
  readonly starts: readonly number[]
  /** A segment that ends exactly at such an instant matches like a segment that ends before it. */
  readonly ends: readonly number[]
}

/** A list of rules at one point in time, with a search that is much faster than reading the list. */
export class RuleList {
  readonly now: number
  /** Whether the rules apply to the same segments at any time. */
  readonly isFixed: boolean
  private readonly rules: readonly Rule[]
  private regions: readonly RuleRegion[] | undefined
  private finder: RegionFinder | undefined
  private bounds: RuleBounds | undefined
  private swept: { readonly until: number; readonly times: SweptTimes } | undefined

  constructor(rules: readonly Rule[], now: number) {
    this.rules = rules
    this.now = now
    this.isFixed = areWithoutPeriods(rules)
  }

  /** Returns the index of the first rule that applies to a segment from `start` to `end`, or -1. */
  match(start: number, end: number): number {
    this.finder ??= new RegionFinder(this.allRegions())
    return this.finder.firstHolding(start, end)
  }

  /** Returns the instants where a different rule may start to apply. */
  allBounds(): RuleBounds {
    this.bounds ??= {
      starts: distinct(this.allRegions().flatMap(({ startFrom, startBefore }) => [startFrom, startBefore])),
      ends: distinct(this.allRegions().flatMap(({ endAfter, endUpTo }) => [endAfter, endUpTo])),
    }
    return this.bounds
  }

  /** Returns the time ranges that rule bounds pass between the time of this list and `now`. */
  sweptUntil(now: number): SweptTimes {
    if (this.swept?.until !== now) {
      const before = this.allRegions()
      const times = this.rules.flatMap((rule, index) => {
        const after = boundsOf(regionOf(rule, now))
        return boundsOf(before[index]!).flatMap((from, bound) => {
          const to = after[bound]!
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

const areWithoutPeriods = (rules: readonly Rule[]): boolean => !rules.some((rule) => 'period' in rule)

const boundsOf = ({ startFrom, startBefore, endAfter, endUpTo }: RuleRegion): readonly number[] => [
  startFrom,
  startBefore,
  endAfter,
  endUpTo,
]

const distinct = (numbers: readonly number[]): readonly number[] => [...new Set(numbers)]

// Many datasources share the cluster's default rules, and an unchanged list is always the same object.
const latestLists = new WeakMap<readonly Rule[], RuleList>()

/** Returns the list at `now` (epoch milliseconds). The result is cached until a different time is requested. */
export function ruleListAt(rules: readonly Rule[], now: number): RuleList {
  const latest = latestLists.get(rules)
  if (latest !== undefined && (latest.now === now || latest.isFixed)) return latest
  const list = new RuleList(rules, now)
  latestLists.set(rules, list)
  return list
}

/** Returns whether rules apply to the same segments at any time. */
export const isFixedList = (rules: readonly Rule[]): boolean =>
  latestLists.get(rules)?.isFixed ?? areWithoutPeriods(rules)
