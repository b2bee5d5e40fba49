import { parseInterval } from '@svc/domain/time'
import type { CompactionInterval, CompactionStatus } from '../cluster/index.ts'

const dayMs = 86_400_000
// From days to years.
const widths = [dayMs, 7 * dayMs, 28 * dayMs, 91 * dayMs, 364 * dayMs]
const maxBuckets = 80

export type CompactionState = 'awaiting' | 'skipped' | 'compacted'

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
  readonly rows: readonly { readonly status: CompactionStatus; readonly cells: readonly CalendarCell[] }[]
}

/** Returns a calendar of all intervals; undefined if there are none. */
export function calendarOf(statuses: readonly CompactionStatus[]): Calendar | undefined {
  const rows = statuses.map((status) => ({ status, intervals: intervalsOf(status) }))
  let first = Infinity
  let last = -Infinity
  for (const { intervals } of rows) {
    for (const { start, end } of intervals) {
      if (Number.isFinite(start) && start < first) first = start
      if (Number.isFinite(end) && end > last) last = end
    }
  }
  if (first >= last) return undefined
  const widthMs = widths.find((width) => (last - first) / width <= maxBuckets) ?? widths.at(-1)!
  const start = Math.floor(first / dayMs) * dayMs
  const count = Math.min(1000, Math.ceil((last - start) / widthMs))
  return {
    start,
    end: start + count * widthMs,
    widthMs,
    rows: rows.map(({ status, intervals }) => ({ status, cells: cellsOf(intervals, start, widthMs, count) })),
  }
}

function intervalsOf({ intervals }: CompactionStatus): CalendarInterval[] {
  if (!intervals) return []
  const of = (state: CompactionState) =>
    intervals[state].map((one, index): CalendarInterval => {
      const { start, end } = parseInterval(one.interval)
      return { ...one, state, start, end, place: state === 'awaiting' ? index + 1 : undefined }
    })
  return [...of('awaiting'), ...of('skipped'), ...of('compacted')]
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
