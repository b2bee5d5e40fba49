import { bucketOf } from '@svc/domain/time'

const dayMs = 86_400_000

/** Midnight in UTC at the start of the day of an instant, epoch milliseconds. */
export function startOfDay(instantMs: number): number {
  return bucketOf('DAY', instantMs).start
}

/** How much sample data to write, and for which days. */
export interface SampleOptions {
  readonly days: number
  readonly rows: number
  /** The end of the last day, epoch milliseconds; a midnight in UTC. */
  readonly endMs: number
}

/**
 * Yields the lines of each day, ordered by time: flights of `source` (CSV without its header; the time is the first column)
 * at their time of day, spread evenly over the days. Starts again with the first flight after the last one.
 */
export function* sampleDays(
  source: readonly string[],
  { days, rows, endMs }: SampleOptions,
): Generator<string> {
  for (let day = 0; day < days; day++) {
    const date = new Date(endMs - (days - day) * dayMs).toISOString().slice(0, 10)
    const from = Math.floor((day * rows) / days)
    const to = Math.floor(((day + 1) * rows) / days)
    const lines = Array.from({ length: to - from }, (_, index) => {
      const flight = source[(from + index) % source.length] as string
      return `${date}${flight.slice(date.length)}\n`
    })
    yield lines.sort().join('')
  }
}
