import { refuse } from '../validation/index.ts'
import { formatInstant, readInstant } from './instant.ts'
import { addPeriod, readPeriod, subtractPeriod } from './period.ts'

/** The JSON schema of an interval. */
export const intervalSchema = { type: 'string', description: 'ISO 8601 interval' } as const

/** A half-open stretch of time in epoch milliseconds: `start` belongs to it, `end` does not. */
export interface Interval {
  readonly start: number
  readonly end: number
}

/** All of time. */
export const ETERNITY: Interval = { start: -Infinity, end: Infinity }

/** The interval as `start/end`, see formatInstant. */
export function formatInterval(interval: Interval): string {
  return `${formatInstant(interval.start)}/${formatInstant(interval.end)}`
}

// Longer than any text of two times or periods.
const maxIntervalLength = 256

function readInterval(text: string): Interval | undefined {
  if (text.length > maxIntervalLength) return undefined
  const parts = text.split('/')
  if (parts.length !== 2) return undefined
  const [first, second] = parts as [string, string]
  const start = readInstant(first)
  const end = readInstant(second)
  if (start !== undefined && end !== undefined) return { start, end }
  if (start !== undefined) return readFrom(start, 'after', second)
  return end === undefined ? undefined : readFrom(end, 'before', first)
}

function readFrom(instantMs: number, side: 'after' | 'before', periodText: string): Interval | undefined {
  const period = readPeriod(periodText)
  if (period === undefined) return undefined
  const other = side === 'after' ? addPeriod(instantMs, period) : subtractPeriod(instantMs, period)
  if (!Number.isFinite(other)) return undefined
  return side === 'after' ? { start: instantMs, end: other } : { start: other, end: instantMs }
}

/**
 * An ISO 8601 interval `start/end`, `start/period` or `period/end`, UTC where an end names no offset. An end before the
 * start, or anything else, is an invalidInput failure that names `field`; an empty interval is accepted, as the
 * recorded system does.
 */
export function parseInterval(text: string, field = 'interval'): Interval {
  if (text.length === 'eternity'.length && text.toLowerCase() === 'eternity')
    throw refuse(field, text, `[${formatInterval(ETERNITY)}] for all of time`)
  const interval = readInterval(text)
  if (interval === undefined || interval.start === Infinity || interval.end === -Infinity) {
    throw refuse(
      field,
      text,
      'an ISO 8601 interval such as [2026-01-01/2026-02-01], [2026-01-01T00:00:00Z/P1M] or [P1M/2026-02-01]',
    )
  }
  if (interval.end < interval.start)
    throw refuse(field, text, 'an interval whose end is not before its start')
  return interval
}

/** Whether the two share time; touching is not sharing. An empty interval strictly inside the other one overlaps it. */
export function overlaps(a: Interval, b: Interval): boolean {
  return a.start < b.end && b.start < a.end
}

/** Whether `inner` lies within `outer`; their ends may coincide. */
export function contains(outer: Interval, inner: Interval): boolean {
  return outer.start <= inner.start && inner.end <= outer.end
}

/** Whether one of the two begins exactly where the other ends. */
export function abuts(a: Interval, b: Interval): boolean {
  return a.end === b.start || b.end === a.start
}

/** Whether the two begin and end at the same times. */
export function sameInterval(a: Interval, b: Interval): boolean {
  return a.start === b.start && a.end === b.end
}

/** The time that two share; of two that share none it ends before it starts, or is empty where they touch. */
export function intersection(a: Interval, b: Interval): Interval {
  return { start: Math.max(a.start, b.start), end: Math.min(a.end, b.end) }
}

/** The shortest interval in which all lie; undefined where there is none. */
export function umbrellaOf(intervals: readonly Interval[]): Interval | undefined {
  let umbrella: { start: number; end: number } | undefined
  for (const { start, end } of intervals) {
    if (umbrella === undefined) umbrella = { start, end }
    if (start < umbrella.start) umbrella.start = start
    if (end > umbrella.end) umbrella.end = end
  }
  return umbrella
}
