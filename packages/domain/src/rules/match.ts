import { contains, type Interval, overlaps, subtractPeriod } from '../time/index.ts'
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

const always = (): boolean => true

/**
 * Which intervals the rule applies to at `now`. The bounds are the recorded system's: a load rule that includes the
 * future looks at the end of a segment, a drop rule at its start, so that a segment across the start of the window is
 * kept by both.
 */
function matcherOf(rule: Rule, now: number): (interval: Interval) => boolean {
  switch (rule.type) {
    case 'loadForever':
    case 'dropForever':
    case 'broadcastForever':
      return always
    case 'loadByInterval':
    case 'broadcastByInterval':
      return (interval) => overlaps(interval, rule.interval)
    case 'dropByInterval':
      return (interval) => contains(rule.interval, interval)
    case 'loadByPeriod':
    case 'broadcastByPeriod': {
      const windowStart = subtractPeriod(now, rule.period)
      if (rule.includeFuture) return (interval) => interval.end > windowStart
      return (interval) => interval.start < now && interval.end > windowStart
    }
    case 'dropByPeriod': {
      const windowStart = subtractPeriod(now, rule.period)
      // A segment without a start begins before every window, even one too long to have a start of its own.
      const startsWithin = (start: number): boolean => start >= windowStart && start !== -Infinity
      if (rule.includeFuture) return (interval) => startsWithin(interval.start)
      return (interval) => startsWithin(interval.start) && interval.start < now && interval.end <= now
    }
    case 'dropBeforeByPeriod': {
      const windowStart = subtractPeriod(now, rule.period)
      return (interval) => interval.end <= windowStart
    }
  }
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
