import { subtractPeriod } from '../time/index.ts'
import type { Rule } from './rule.ts'

/**
 * The segments that a rule applies to, as bounds of their start and end. Every rule is such a rectangle, so that
 * segments in the order of their times fall under it in stretches.
 */
export interface RuleRegion {
  /** The least start, itself included. */
  readonly startFrom: number
  /** Where starts end, itself excluded. */
  readonly startBefore: number
  /** Where ends begin, itself excluded. */
  readonly endAfter: number
  /** The greatest end, itself included. */
  readonly endUpTo: number
}

const everything: RuleRegion = {
  startFrom: -Infinity,
  startBefore: Infinity,
  endAfter: -Infinity,
  endUpTo: Infinity,
}

/**
 * The region of a rule at `now`. The bounds are the recorded system's: a load rule that includes the future looks at
 * the end of a segment, a drop rule at its start, so that a segment across the start of the window is kept by both.
 */
export function regionOf(rule: Rule, now: number): RuleRegion {
  switch (rule.type) {
    case 'loadForever':
    case 'dropForever':
    case 'broadcastForever':
      return everything
    case 'loadByInterval':
    case 'broadcastByInterval':
      return { ...everything, startBefore: rule.interval.end, endAfter: rule.interval.start }
    case 'dropByInterval':
      return { ...everything, startFrom: rule.interval.start, endUpTo: rule.interval.end }
    case 'loadByPeriod':
    case 'broadcastByPeriod': {
      const endAfter = subtractPeriod(now, rule.period)
      return rule.includeFuture ? { ...everything, endAfter } : { ...everything, endAfter, startBefore: now }
    }
    case 'dropByPeriod': {
      // A segment without a start begins before every window, even one too long to have a start of its own.
      const startFrom = Math.max(subtractPeriod(now, rule.period), -Number.MAX_VALUE)
      return rule.includeFuture
        ? { ...everything, startFrom }
        : { ...everything, startFrom, startBefore: now, endUpTo: now }
    }
    case 'dropBeforeByPeriod':
      return { ...everything, endUpTo: subtractPeriod(now, rule.period) }
  }
}

/** Whether a segment from `start` to `end` lies in the region. */
export function isInRegion(region: RuleRegion, start: number, end: number): boolean {
  return (
    start >= region.startFrom && start < region.startBefore && end > region.endAfter && end <= region.endUpTo
  )
}
