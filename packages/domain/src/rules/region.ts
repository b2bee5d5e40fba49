import { subtractPeriod } from '../time/index.ts'
import type { Rule } from './rule.ts'

/**
 * Bounds for the start and end of the segments that a rule applies to. Every rule is such a rectangle, so it applies to
 * contiguous ranges of segments in time order.
 */
export interface RuleRegion {
  /** Earliest start, inclusive. */
  readonly startFrom: number
  /** Latest start, exclusive. */
  readonly startBefore: number
  /** Earliest end, exclusive. */
  readonly endAfter: number
  /** Latest end, inclusive. */
  readonly endUpTo: number
}

const everything: RuleRegion = {
  startFrom: -Infinity,
  startBefore: Infinity,
  endAfter: -Infinity,
  endUpTo: Infinity,
}

/**
 * Returns the region of a rule at `now`, with the same bounds as Druid 37. A load rule that includes the future checks
 * the end of a segment and a drop rule checks its start, so both keep a segment that spans the start of the window.
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
      // A segment without a start begins before every window, even before a window so long that it has no start either.
      const startFrom = Math.max(subtractPeriod(now, rule.period), -Number.MAX_VALUE)
      return rule.includeFuture
        ? { ...everything, startFrom }
        : { ...everything, startFrom, startBefore: now, endUpTo: now }
    }
    case 'dropBeforeByPeriod':
      return { ...everything, endUpTo: subtractPeriod(now, rule.period) }
  }
}

/** Returns whether a segment from `start` to `end` is in the region. */
export function isInRegion(region: RuleRegion, start: number, end: number): boolean {
  return (
    start >= region.startFrom && start < region.startBefore && end > region.endAfter && end <= region.endUpTo
  )
}
