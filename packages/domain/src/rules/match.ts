import type { Interval } from '../time/index.ts'
import { isInRegion, regionOf } from './region.ts'
import type { Rule, TieredReplicants } from './rule.ts'

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

const drop: WantedCopies = { action: 'drop' }
const broadcast: WantedCopies = { action: 'broadcast' }
// A rule may name thousands of tiers, and is described for each datasource and run.
const loadsOf = new WeakMap<TieredReplicants, WantedCopies>()

/** What the rule wants, always the same object for the same rule; a tier that should have 0 replicas is left out. */
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
