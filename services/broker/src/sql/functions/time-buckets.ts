import { invalidInput } from '@svc/domain/failure'
import { formatPeriod, type Period, parsePeriod } from '@svc/domain/time'
import { bound } from './bound.ts'
import type { Zone } from './time-zone.ts'

/** How a period divides time: by calendar months, by days in a time zone, or by elapsed milliseconds. */
interface Step {
  readonly kind: 'months' | 'days' | 'millis'
  readonly amount: number
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const epoch = `TIMESTAMP '1970-01-01 00:00:00'`

/** Parses a period. Throws an invalidInput Failure if it is invalid or empty. */
export function readBucketPeriod(text: string): Period {
  const period = parsePeriod(text, 'period')
  if (Object.values(period).every((amount) => amount === 0))
    throw invalidInput(`Invalid value [${text}] for [period]: expected a non-empty period such as [P1D]`)
  return period
}

const isUtc = (zone: Zone): boolean => zone.firstInstant('x') === 'x'
const monthsOf = ({ years, months }: Period): number => years * 12 + months
const daysOf = ({ weeks, days }: Period): number => weeks * 7 + days
const millisOf = ({ hours, minutes, seconds, millis }: Period): number =>
  hours * hourMs + minutes * 60_000 + seconds * 1000 + millis

function stepOf(period: Period, zone: Zone, hasOrigin: boolean): Step {
  const [months, days, millis] = [monthsOf(period), daysOf(period), millisOf(period)]
  const kinds = [months, days, millis].filter((amount) => amount > 0).length
  // With an origin late in its month, adding years and adding months are separate steps.
  const isCalendar = months > 0 && !(hasOrigin && period.years > 0 && period.months > 0)
  if (kinds === 1 && isCalendar) return { kind: 'months', amount: months }
  if (kinds === 1 && days > 0) return { kind: 'days', amount: days }
  if (kinds === 1 && millis > 0) return { kind: 'millis', amount: millis }
  if (months === 0 && isUtc(zone)) return { kind: 'millis', amount: days * dayMs + millis }
  throw invalidInput(
    `Invalid value [${formatPeriod(period)}] for [period]: expected only years and months, only weeks and days, only hours and smaller units, or (in UTC) only weeks and smaller units`,
  )
}

const floored = (dividend: string, divisor: number): string =>
  `((${dividend}) - ((((${dividend}) % ${divisor}) + ${divisor}) % ${divisor}))`
const millisLater = (instant: string, millis: string): string => `((${instant}) + to_milliseconds(${millis}))`
const integer = (value: string): string => `CAST(${value} AS INTEGER)`

/** Returns SQL for the start of the bucket that contains an instant. A bucket starts at `origin`. */
export function floorSql(instant: string, period: Period, zone: Zone, origin: string | undefined): string {
  const shown = zone.shown(instant)
  const single = origin === undefined ? singleUnit(period) : undefined
  if (single === 'year' || single === 'month' || single === 'week' || single === 'day')
    return zone.instantBefore(`date_trunc('${single}', ${shown})`, instant)
  if ((single === 'hour' || single === 'minute' || single === 'second') && isUtc(zone))
    return `date_trunc('${single}', ${instant})`
  const { kind, amount } = stepOf(period, zone, origin !== undefined)
  if (single !== undefined)
    return bound('millis', `epoch_ms(${shown})`, (millis) =>
      millisLater(instant, `${floored(millis, amount)} - ${millis}`),
    )
  const start = origin === undefined ? epoch : zone.shown(origin)
  if (kind === 'millis') {
    const first = origin ?? zone.firstInstant(epoch)
    return bound('passed', `epoch_ms(${instant}) - epoch_ms(${first})`, (passed) =>
      millisLater(instant, `${floored(passed, amount)} - ${passed}`),
    )
  }
  if (kind === 'days') {
    const later = bound('passed', `epoch_ms(${shown}) - epoch_ms(${start})`, (passed) =>
      millisLater(start, floored(passed, amount * dayMs)),
    )
    return zone.firstInstant(later)
  }
  const later = bound('begun', `date_diff('month', ${start}, ${shown})`, (begun) =>
    bound(
      'whole',
      `${begun} - CASE WHEN ${start} + to_months(${integer(begun)}) > ${shown} THEN 1 ELSE 0 END`,
      (bucketCount) => `(${start} + to_months(${integer(floored(bucketCount, amount))}))`,
    ),
  )
  return zone.firstInstant(later)
}

/**
 * Returns the unit of a period that is exactly one unit, so that its buckets need no origin; undefined for other
 * periods.
 */
function singleUnit(period: Period): string | undefined {
  const [first, ...others] = Object.entries(period).filter(([, amount]) => amount !== 0)
  return others.length === 0 && first?.[1] === 1 ? first[0].slice(0, -1) : undefined
}

/** Returns SQL for the start of the next bucket, or for the instant itself if a bucket starts there. */
export function ceilSql(instant: string, period: Period, zone: Zone, origin: string | undefined): string {
  return bound(
    'floor',
    floorSql(instant, period, zone, origin),
    (floor) =>
      `CASE WHEN ${floor} = (${instant}) THEN ${floor} ELSE ${shiftSql(floor, period, '1', zone)} END`,
  )
}

/** Returns SQL for the instant that is a number of periods later. */
export function shiftSql(instant: string, period: Period, steps: string, zone: Zone): string {
  const { years, months } = period
  const days = daysOf(period)
  const millis = millisOf(period)
  const times = (amount: number): string => `(${amount} * (${steps}))`
  const calendar = [
    ...(years > 0 ? [`to_months(${integer(times(12 * years))})`] : []),
    ...(months > 0 ? [`to_months(${integer(times(months))})`] : []),
    ...(days > 0 ? [`to_days(${integer(times(days))})`] : []),
  ]
  // Years and months are added separately; each addition ends on the last day of a shorter month.
  const shown = calendar.reduce((sum, interval) => `(${sum} + ${interval})`, zone.shown(instant))
  const moved = calendar.length > 0 ? zone.firstInstant(shown) : instant
  return millis > 0 ? millisLater(moved, times(millis)) : moved
}
