import type { Interval } from '../time/index.ts'
import { isInRegion, regionOf } from './region.ts'
import type { Rule, TieredReplicants } from './rule.ts'

/** What a rule requires for the segments that it applies to. */
export type WantedCopies =
  | { readonly action: 'load'; readonly tieredReplicants: ReadonlyMap<string, number> }
  | { readonly action: 'broadcast' }
  | { readonly action: 'drop' }

/** A rule evaluated at one point in time, to match many segments. */
export interface CompiledRule {
  readonly rule: Rule
  readonly wanted: WantedCopies
  readonly appliesTo: (interval: Interval) => boolean
}

/** Returns a function that checks whether the rule applies to an interval at `now`. */
function matcherOf(rule: Rule, now: number): (interval: Interval) => boolean {
  const region = regionOf(rule, now)
  return ({ start, end }) => isInRegion(region, start, end)
}

const drop: WantedCopies = { action: 'drop' }
const broadcast: WantedCopies = { action: 'broadcast' }
// A rule may list thousands of tiers, and this result is needed for each datasource and run.
const loadsOf = new WeakMap<TieredReplicants, WantedCopies>()

/** Returns what the rule requires, without tiers that get 0 replicas. The same rule always returns the same object. */
export function describeWantedCopies(rule: Rule): WantedCopies {
  switch (rule.type) {
    case 'loadForever':
    case 'loadByPeriod':
    case 'loadByInterval': {
      const { tieredReplicants } = rule
      let wanted = loadsOf.get(tieredReplicants)
      if (wanted === undefined) {
        const named = Object.entries(tieredReplicants).filter(([, count]) => count > 0)
        wanted = { action: 'load', tieredReplicants: new Map(named) }
        loadsOf.set(tieredReplicants, wanted)
      }
      return wanted
    }
    case 'dropForever':
    case 'dropByPeriod':
    case 'dropBeforeByPeriod':
    case 'dropByInterval':
      return drop
    case 'broadcastForever':
    case 'broadcastByPeriod':
    case 'broadcastByInterval':
      return broadcast
  }
}

/** Returns the rules in the same order, ready to match intervals at `now` (epoch milliseconds). */
export function compileRules(rules: readonly Rule[], now: number): CompiledRule[] {
  return rules.map((rule) => ({
    rule,
    wanted: describeWantedCopies(rule),
    appliesTo: matcherOf(rule, now),
  }))
}

/** Returns the index of the first rule that applies to a segment with this interval, or -1. */
export function matchRule(compiled: readonly CompiledRule[], interval: Interval): number {
  return compiled.findIndex((rule) => rule.appliesTo(interval))
}

/** Returns whether the rule applies to a segment with this interval at `now` (epoch milliseconds). */
export function ruleApplies(rule: Rule, interval: Interval, now: number): boolean {
  return matcherOf(rule, now)(interval)
}
