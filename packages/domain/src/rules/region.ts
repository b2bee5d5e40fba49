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

/** The region of all segments. */
export const everything: RuleRegion = {
  startFrom: -Infinity,
  startBefore: Infinity,
  endAfter: -Infinity,
  endUpTo: Infinity,
}

/** Returns whether a segment from `start` to `end` is in the region. */
export function isInRegion(region: RuleRegion, start: number, end: number): boolean {
  return (
    start >= region.startFrom && start < region.startBefore && end > region.endAfter && end <= region.endUpTo
  )
}
