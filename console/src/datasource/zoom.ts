import type { TimeRange } from '../web-worker/index.ts'

const minSpanMs = 5 * 60_000
// About 100,000 years. Dates can express more than twice as much, which leaves room for ticks and buckets at each end.
const limitMs = 3.15e15

/** Returns a part of the time axis that is longer by a factor. An instant keeps its place on the axis. */
export function zoomed({ start, end }: TimeRange, factor: number, center: number): TimeRange {
  const span = Math.max(minSpanMs, (end - start) * factor)
  const share = (center - start) / (end - start)
  return withinLimit({ start: center - span * share, end: center + span * (1 - share) })
}

/** Returns a part of the time axis, moved by an amount of time. */
export const shifted = ({ start, end }: TimeRange, byMs: number): TimeRange =>
  withinLimit({ start: start + byMs, end: end + byMs })

function withinLimit({ start, end }: TimeRange): TimeRange {
  const span = Math.min(end - start, 2 * limitMs)
  const from = Math.min(Math.max(start, -limitMs), limitMs - span)
  return { start: from, end: from + span }
}
