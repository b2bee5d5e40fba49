import { refuse } from '../validation/index.ts'
import { formatInstant, instantOf } from './instant.ts'
import { addPeriod, periodOf, subtractPeriod } from './period.ts'

/** A half-open interval in milliseconds since the epoch: it includes `start` but not `end`. */
export interface Interval {
  readonly start: number
  readonly end: number
}

/** All of time. */
export const eternity: Interval = { start: -Infinity, end: Infinity }

/** Formats an interval as `start/end`, see formatInstant. */
export function formatInterval(interval: Interval): string {
  return `${formatInstant(interval.start)}/${formatInstant(interval.end)}`
}

// Longer than any two instants or periods.
const maxIntervalLength = 256

function intervalOf(text: string): Interval | undefined {
  if (text.length > maxIntervalLength) return undefined
  const parts = text.split('/')
  if (parts.length !== 2) return undefined
  const [first, second] = parts as [string, string]
  const start = instantOf(first)
  const end = instantOf(second)
  if (start !== undefined && end !== undefined) return { start, end }
  if (start !== undefined) return readFrom(start, 'after', second)
  return end === undefined ? undefined : readFrom(end, 'before', first)
}

function readFrom(instantMs: number, side: 'after' | 'before', periodText: string): Interval | undefined {
  const period = periodOf(periodText)
  if (period === undefined) return undefined
  const other = side === 'after' ? addPeriod(instantMs, period) : subtractPeriod(instantMs, period)
  if (!Number.isFinite(other)) return undefined
  return side === 'after' ? { start: instantMs, end: other } : { start: other, end: instantMs }
}

/**
 * Parses an ISO 8601 interval `start/end`, `start/period`, or `period/end`, in UTC if there is no offset. Throws
 * invalidInput for `field` if the text is not an interval or its end is before its start. Like Druid 37, it accepts an
 * empty interval.
 */
export function parseInterval(text: string, field = 'interval'): Interval {
  if (text.length === 'eternity'.length && text.toLowerCase() === 'eternity')
    throw refuse(field, text, `[${formatInterval(eternity)}] for all of time`)
  const interval = intervalOf(text)
  if (interval === undefined || interval.start === Infinity || interval.end === -Infinity) {
    throw refuse(
      field,
      text,
      'an ISO 8601 interval such as [2026-01-01/2026-02-01], [2026-01-01T00:00:00Z/P1M], or [P1M/2026-02-01]',
    )
  }
  if (interval.end < interval.start)
    throw refuse(field, text, 'an interval that does not end before it starts')
  return interval
}

/**
 * Whether two intervals overlap. Touching is not overlapping. An empty interval strictly inside another one overlaps
 * it.
 */
export function overlaps(a: Interval, b: Interval): boolean {
  return a.start < b.end && b.start < a.end
}

/** Whether `inner` is within `outer`. They can share an end. */
export function contains(outer: Interval, inner: Interval): boolean {
  return outer.start <= inner.start && inner.end <= outer.end
}

/** Whether one interval starts exactly where the other ends. */
export function abuts(a: Interval, b: Interval): boolean {
  return a.end === b.start || b.end === a.start
}

/** Whether two intervals are equal. */
export function sameInterval(a: Interval, b: Interval): boolean {
  return a.start === b.start && a.end === b.end
}

/** Returns the intersection. It is empty for intervals that touch, and ends before it starts for disjoint ones. */
export function intersection(a: Interval, b: Interval): Interval {
  return { start: Math.max(a.start, b.start), end: Math.min(a.end, b.end) }
}

/** Returns the shortest interval that contains all intervals; undefined for an empty list. */
export function enclosingInterval(intervals: readonly Interval[]): Interval | undefined {
  let enclosing: { start: number; end: number } | undefined
  for (const { start, end } of intervals) {
    if (enclosing === undefined) enclosing = { start, end }
    if (start < enclosing.start) enclosing.start = start
    if (end > enclosing.end) enclosing.end = end
  }
  return enclosing
}
