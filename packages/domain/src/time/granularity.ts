import { refuse } from '../validation/index.ts'
import { calendarFromDays, dayMs, daysFromCalendar } from './calendar.ts'
import { eternity, type Interval } from './interval.ts'

const minuteMs = 60_000
const hourMs = 3_600_000

interface FixedBuckets {
  readonly lengthMs: number
  /** Start of any bucket. */
  readonly originMs: number
}

const fixed = (lengthMs: number, originMs = 0): FixedBuckets => ({ lengthMs, originMs })

// Numbers are months per bucket, for calendar units. ALL has one bucket, eternity.
const bucketsOf = {
  NONE: fixed(1),
  SECOND: fixed(1000),
  MINUTE: fixed(minuteMs),
  FIVE_MINUTE: fixed(5 * minuteMs),
  TEN_MINUTE: fixed(10 * minuteMs),
  FIFTEEN_MINUTE: fixed(15 * minuteMs),
  THIRTY_MINUTE: fixed(30 * minuteMs),
  HOUR: fixed(hourMs),
  SIX_HOUR: fixed(6 * hourMs),
  EIGHT_HOUR: fixed(8 * hourMs),
  DAY: fixed(dayMs),
  // ISO weeks start on Mondays; 1970-01-05 was one.
  WEEK: fixed(7 * dayMs, 4 * dayMs),
  MONTH: 1,
  QUARTER: 3,
  YEAR: 12,
  ALL: 'eternity',
} as const satisfies Record<string, FixedBuckets | number | 'eternity'>

/** A granularity: a way to divide time into buckets. */
export type Granularity = keyof typeof bucketsOf

/** The names of all granularities, finest first. */
export const granularities = Object.keys(bucketsOf) as readonly Granularity[]

// Longer than all names, so longer strings are not compared.
const maxNameLength = 32

/** Returns the granularity with this name, ignoring case; undefined if there is none. */
export function findGranularity(text: string): Granularity | undefined {
  if (text.length > maxNameLength) return undefined
  const name = text.toUpperCase()
  return granularities.find((known) => known === name)
}

/** Returns the granularity with this name, ignoring case. Throws invalidInput for `field` if there is none. */
export function parseGranularity(text: string, field = 'granularity'): Granularity {
  const granularity = findGranularity(text)
  if (granularity === undefined) throw refuse(field, text, `one of [${granularities.join(', ')}]`)
  return granularity
}

const monthStart = (monthIndex: number): number =>
  daysFromCalendar(Math.floor(monthIndex / 12), (((monthIndex % 12) + 12) % 12) + 1, 1) * dayMs

/**
 * Returns the bucket of the granularity that contains the instant, in UTC. Buckets of NONE are one millisecond long.
 * ALL has one bucket for all instants, including infinite ones. Other granularities throw RangeError for infinite
 * instants.
 */
export function bucketOf(granularity: Granularity, instantMs: number): Interval {
  const buckets = bucketsOf[granularity]
  if (buckets === 'eternity') return eternity
  if (!Number.isFinite(instantMs))
    throw new RangeError(`Instant [${instantMs}] is not in any ${granularity} bucket`)
  if (typeof buckets === 'number') {
    const { year, month } = calendarFromDays(Math.floor(instantMs / dayMs))
    const monthIndex = year * 12 + month - 1
    const first = Math.floor(monthIndex / buckets) * buckets
    return { start: monthStart(first), end: monthStart(first + buckets) }
  }
  const { lengthMs, originMs } = buckets
  const start = Math.floor((instantMs - originMs) / lengthMs) * lengthMs + originMs
  return { start, end: start + lengthMs }
}
