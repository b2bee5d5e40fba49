import type { Interval } from '../time/index.ts'
import { isInRegion, regionOf } from './region.ts'
import type { Rule } from './rule.ts'

/** What a rule wants for the segments under it. */
export type WantedCopies =
  | { readonly action: 'load'; readonly tieredReplicants: ReadonlyMap<string, number> }
  | { readonly action: 'broadcast' }
  | { readonly action: 'drop' }

/** A rule whose window is fixed at one moment, for many segments. */
export interface CompiledRule {
  readonly rule: Rule
  readonly wanted: WantedCopies
  readonly appliesTo: (interval: Interval) => boolean
}

/** Which intervals the rule applies to at `now`. */
function matcherOf(rule: Rule, now: number): (interval: Interval) => boolean {
  const region = regionOf(rule, now)
  return ({ start, end }) => isInRegion(region, start, end)
}

/** What the rule wants; a tier that is to hold 0 copies is not named. */
export function describeWantedCopies(rule: Rule): WantedCopies {
  switch (rule.type) {
    case 'loadForever':
    case 'loadByPeriod':
    case 'loadByInterval':
      return {
        action: 'load',
        tieredReplicants: new Map(Object.entries(rule.tieredReplicants).filter(([, count]) => count > 0)),
      }
    case 'dropForever':
    case 'dropByPeriod':
    case 'dropBeforeByPeriod':
    case 'dropByInterval':
      return { action: 'drop' }
    case 'broadcastForever':
    case 'broadcastByPeriod':
    case 'broadcastByInterval':
      return { action: 'broadcast' }
  }
}

/** The rules in their order, ready to be matched as of `now` (epoch milliseconds). */
export function compileRules(rules: readonly Rule[], now: number): CompiledRule[] {
  return rules.map((rule) => ({
    rule,
    wanted: describeWantedCopies(rule),
    appliesTo: matcherOf(rule, now),
  }))
}

/** The index of the first rule that applies to a segment of the interval, or -1. */
export function matchRule(compiled: readonly CompiledRule[], interval: Interval): number {
  return compiled.findIndex((rule) => rule.appliesTo(interval))
}

/** Whether the rule applies to a segment of the interval at `now` (epoch milliseconds). */
export function ruleApplies(rule: Rule, interval: Interval, now: number): boolean {
  return matcherOf(rule, now)(interval)
}
