import { dayMs, parseInterval } from '@svc/domain/time'
import type { CompactionInterval, CompactionState, CompactionStatus } from '../answers/index.ts'

// From days to years.
const widths = [dayMs, 7 * dayMs, 28 * dayMs, 91 * dayMs, 364 * dayMs]
const maxBuckets = 80

/** The intervals of a datasource by state; undefined if they are unknown. */
export type IntervalsByState = Pick<CompactionStatus, 'dataSource' | 'intervals'>

/** An interval of a datasource, with its place in the queue of the datasource if it awaits compaction. */
export interface CalendarInterval extends CompactionInterval {
  readonly state: CompactionState
  readonly start: number
  readonly end: number
  readonly place: number | undefined
}

/** A part of the time axis of one datasource. */
export interface CalendarCell {
  readonly start: number
  readonly end: number
  readonly intervals: readonly CalendarInterval[]
  /** The state that matters most: awaiting, then skipped, then compacted. */
  readonly state: CompactionState | 'mixed' | 'none'
}

/** The states of all datasources on one time axis. */
export interface Calendar {
  readonly start: number
  readonly end: number
  readonly widthMs: number
  readonly rows: readonly { readonly status: IntervalsByState; readonly cells: readonly CalendarCell[] }[]
}

/** Returns the states of all datasources on one time axis; undefined if there are no intervals. */
export function calendarOf(statuses: readonly IntervalsByState[], now: number): Calendar | undefined {
  const rows = statuses.map((status) => ({ status, intervals: intervalsOf(status) }))
  const extent = extentOf(
    rows.flatMap(({ intervals }) => intervals),
    now,
  )
  if (!extent) return undefined
  const widthMs = widths.find((width) => (extent.end - extent.start) / width <= maxBuckets) ?? widths.at(-1)!
  const start = Math.floor(extent.start / dayMs) * dayMs
  const count = Math.min(1000, Math.ceil((extent.end - start) / widthMs))
  return {
    start,
    end: start + count * widthMs,
    widthMs,
    rows: rows.map(({ status, intervals }) => ({ status, cells: cellsOf(intervals, start, widthMs, count) })),
  }
}

/** A day of a calendar, with its place among the weeks of its year. Weeks start on Monday. */
export interface CalendarDay extends CalendarCell {
  readonly week: number
  /** 0 is Monday. */
  readonly weekday: number
}

/** The days of a year that are shown, in order. */
export interface CalendarYear {
  readonly year: number
  readonly days: readonly CalendarDay[]
}

/** How many years a calendar shows, the newest first. */
export const maxYears = 10

/** Returns the days of one datasource by year, newest year first; years without data are left out. */
export function yearsOf(status: IntervalsByState, now: number): readonly CalendarYear[] {
  const intervals = intervalsOf(status)
  const extent = extentOf(intervals, now)
  if (!extent) return []
  const lastYear = new Date(extent.end - 1).getUTCFullYear()
  const firstYear = Math.max(new Date(extent.start).getUTCFullYear(), lastYear - maxYears + 1)
  const years: CalendarYear[] = []
  for (let year = lastYear; year >= firstYear; year -= 1) {
    const start = Date.UTC(year)
    const offset = weekdayOf(start)
    const count = (Date.UTC(year + 1) - start) / dayMs
    const cells = cellsOf(intervals, start, dayMs, count)
    if (cells.every(({ state }) => state === 'none')) continue
    const days = cells.map((cell, day) => ({
      ...cell,
      week: Math.floor((day + offset) / 7),
      weekday: (day + offset) % 7,
    }))
    years.push({ year, days })
  }
  return years
}

// The epoch was a Thursday.
const weekdayOf = (dayStart: number): number => (Math.floor(dayStart / dayMs) + 3) % 7

function intervalsOf({ intervals }: IntervalsByState): CalendarInterval[] {
  if (!intervals) return []
  const of = (state: CompactionState) =>
    intervals[state].map((one, index): CalendarInterval => {
      const { start, end } = parseInterval(one.interval)
      return { ...one, state, start, end, place: state === 'awaiting' ? index + 1 : undefined }
    })
  return [...of('awaiting'), ...of('skipped'), ...of('compacted')]
}

const earliest = Date.UTC(1900)
const latest = Date.UTC(2200)

/**
 * Returns the time from the first to the last interval; undefined if there are none. Intervals such as those of all time
 * do not extend it; if there are no others, it is the last year.
 */
function extentOf(
  intervals: readonly CalendarInterval[],
  now: number,
): { readonly start: number; readonly end: number } | undefined {
  if (intervals.length === 0) return undefined
  let start = Number.POSITIVE_INFINITY
  let end = Number.NEGATIVE_INFINITY
  for (const one of intervals) {
    if (one.start < earliest || one.end > latest) continue
    start = Math.min(start, one.start)
    end = Math.max(end, one.end)
  }
  return start < end ? { start, end } : { start: now - 365 * dayMs, end: now }
}

function cellsOf(
  intervals: readonly CalendarInterval[],
  start: number,
  widthMs: number,
  count: number,
): CalendarCell[] {
  const inCell = Array.from({ length: count }, (): CalendarInterval[] => [])
  for (const one of intervals) {
    const from = Math.max(0, Math.floor((one.start - start) / widthMs))
    const to = Math.min(count, Math.ceil((one.end - start) / widthMs))
    for (let at = from; at < to; at += 1) inCell[at]!.push(one)
  }
  return inCell.map((own, at) => ({
    start: start + at * widthMs,
    end: start + (at + 1) * widthMs,
    intervals: own.toSorted((a, b) => a.start - b.start),
    state: stateOf(new Set(own.map(({ state }) => state))),
  }))
}

function stateOf(states: ReadonlySet<CompactionState>): CalendarCell['state'] {
  if (states.has('awaiting')) return states.has('compacted') ? 'mixed' : 'awaiting'
  return states.has('compacted') ? 'compacted' : states.has('skipped') ? 'skipped' : 'none'
}
