import { refuse } from '../validation/index.ts'
import { calendarFromDays, dayMs, daysFromCalendar } from './calendar.ts'
import { ETERNITY, type Interval } from './interval.ts'

const minuteMs = 60_000
const hourMs = 3_600_000

interface FixedBuckets {
  readonly lengthMs: number
  /** Start of any one bucket. */
  readonly originMs: number
}

const fixed = (lengthMs: number, originMs = 0): FixedBuckets => ({ lengthMs, originMs })

// Buckets of a calendar unit are given as months; ALL has the one bucket eternity.
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
  // ISO weeks begin on Mondays; the fifth day of epoch time was one.
  WEEK: fixed(7 * dayMs, 4 * dayMs),
  MONTH: 1,
  QUARTER: 3,
  YEAR: 12,
  ALL: 'eternity',
} as const satisfies Record<string, FixedBuckets | number | 'eternity'>

/** The name of a way to cut time into buckets. */
export type Granularity = keyof typeof bucketsOf

/** The names of all granularities, finest first. */
export const granularities = Object.keys(bucketsOf) as readonly Granularity[]

// No name is nearly as long: more is not compared.
const maxNameLength = 32

/** The granularity of that name in any case of letters; undefined where there is none. */
export function findGranularity(text: string): Granularity | undefined {
  if (text.length > maxNameLength) return undefined
  const name = text.toUpperCase()
  return granularities.find((known) => known === name)
}

/** The granularity of that name in any case of letters. Another text is an invalidInput failure that names `field`. */
export function parseGranularity(text: string, field = 'granularity'): Granularity {
  const granularity = findGranularity(text)
  if (granularity === undefined) throw refuse(field, text, `one of ${granularities.join(', ')}`)
  return granularity
}

const monthStart = (monthIndex: number): number =>
  daysFromCalendar(Math.floor(monthIndex / 12), (((monthIndex % 12) + 12) % 12) + 1, 1) * dayMs

/**
 * The bucket of the granularity that the instant falls into, UTC. Buckets of NONE are one millisecond long; every
 * instant falls into the one bucket of ALL. An infinite instant has no other bucket and is a RangeError.
 */
export function bucketOf(granularity: Granularity, instantMs: number): Interval {
  const buckets = bucketsOf[granularity]
  if (buckets === 'eternity') return ETERNITY
  if (!Number.isFinite(instantMs)) throw new RangeError(`no ${granularity} bucket at [${instantMs}]`)
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
