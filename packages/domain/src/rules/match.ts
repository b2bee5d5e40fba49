import type { Interval } from '../time/index.ts'
import { isInRegion } from './region.ts'
import { describeWantedCopies, type Rule, regionOf, type WantedCopies } from './rule-types.ts'

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
