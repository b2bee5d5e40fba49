import { ascending } from '../order/index.ts'
import type { TimelineSegment } from './timeline.ts'

const byStart = (a: Pick<TimelineSegment, 'interval'>, b: Pick<TimelineSegment, 'interval'>): number =>
  ascending(a.interval.start, b.interval.start)

/**
 * Divides the segments of one datasource into parts that do not overlap in time, in order of time. The visibility in
 * one part does not depend on the others, so each part can be analyzed alone. All parts except the last have at least
 * `minSize` segments. Segments that all overlap are one part.
 */
export function separateParts<Of extends Pick<TimelineSegment, 'interval'>>(
  segments: readonly Of[],
  minSize: number,
): (readonly Of[])[] {
  if (segments.length <= minSize) return [segments]
  const isSorted = segments.every(
    (segment, index) => index === 0 || byStart(segments[index - 1]!, segment) <= 0,
  )
  const sorted = isSorted ? segments : segments.toSorted(byStart)
  const parts: (readonly Of[])[] = []
  let from = 0
  let lastEnd = Number.NEGATIVE_INFINITY
  for (const [index, { interval }] of sorted.entries()) {
    if (index - from >= minSize && interval.start >= lastEnd) {
      parts.push(sorted.slice(from, index))
      from = index
    }
    lastEnd = Math.max(lastEnd, interval.end)
  }
  parts.push(sorted.slice(from))
  return parts
}
