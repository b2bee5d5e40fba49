import { refuse } from '../validation/index.ts'
import { calendarFromDays, dayMs, daysFromCalendar, daysOfMonth } from './calendar.ts'
import { maxInstantMs } from './instant.ts'

/** An ISO 8601 period by unit. No unit is negative. */
export interface Period {
  readonly years: number
  readonly months: number
  readonly weeks: number
  readonly days: number
  readonly hours: number
  readonly minutes: number
  readonly seconds: number
  readonly millis: number
}

const periodForm =
  /^P(?=\d|T\d)(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d{1,9}))?S)?)?$/
const maxAmount = 2_147_483_647

// Longer than any valid period.
const maxPeriodLength = 192

/** Parses a period. Returns undefined if the text is not one. */
export function periodOf(text: string): Period | undefined {
  const parts = text.length > maxPeriodLength ? null : periodForm.exec(text)
  if (parts === null) return undefined
  const amount = (index: number): number => Number(parts[index] ?? 0)
  const period: Period = {
    years: amount(1),
    months: amount(2),
    weeks: amount(3),
    days: amount(4),
    hours: amount(5),
    minutes: amount(6),
    seconds: amount(7),
    // Cut digits below a millisecond.
    millis: Number((parts[8] ?? '').padEnd(3, '0').slice(0, 3)),
  }
  return Object.values(period).every((value) => value <= maxAmount) ? period : undefined
}

/** Parses an ISO 8601 period such as `P1Y2M3DT4H5M6.789S` or `P2W`. Throws invalidInput for `field` otherwise. */
export function parsePeriod(text: string, field = 'period'): Period {
  const period = periodOf(text)
  if (period === undefined)
    throw refuse(field, text, 'a non-negative ISO 8601 period such as [P1M], [P7D], or [PT12H]')
  return period
}

/** Formats a period as ISO 8601 without zero units; `PT0S` if all are zero. */
export function formatPeriod(period: Period): string {
  const unit = (amount: number, letter: string): string => (amount === 0 ? '' : `${amount}${letter}`)
  const date =
    unit(period.years, 'Y') + unit(period.months, 'M') + unit(period.weeks, 'W') + unit(period.days, 'D')
  const seconds =
    period.millis === 0
      ? unit(period.seconds, 'S')
      : `${period.seconds}.${String(period.millis).padStart(3, '0')}S`
  const time = unit(period.hours, 'H') + unit(period.minutes, 'M') + seconds
  if (date === '' && time === '') return 'PT0S'
  return time === '' ? `P${date}` : `P${date}T${time}`
}

function shiftMonths(instantMs: number, months: number): number {
  if (months === 0) return instantMs
  const days = Math.floor(instantMs / dayMs)
  const { year, month, day } = calendarFromDays(days)
  const monthIndex = year * 12 + month - 1 + months
  const newYear = Math.floor(monthIndex / 12)
  const newMonth = monthIndex - newYear * 12 + 1
  const newDay = Math.min(day, daysOfMonth(newYear, newMonth))
  return daysFromCalendar(newYear, newMonth, newDay) * dayMs + instantMs - days * dayMs
}

function shift(instantMs: number, period: Period, sign: 1 | -1): number {
  if (!Number.isFinite(instantMs)) return instantMs
  // Years and months are two steps, each clamped to the last day of its month, as in Druid 37.
  const dayShifted = shiftMonths(shiftMonths(instantMs, sign * 12 * period.years), sign * period.months)
  const restMs =
    (period.weeks * 7 + period.days) * dayMs +
    ((period.hours * 60 + period.minutes) * 60 + period.seconds) * 1000 +
    period.millis
  const shifted = dayShifted + sign * restMs
  if (shifted < -maxInstantMs) return -Infinity
  return shifted > maxInstantMs ? Infinity : shifted
}

/**
 * Returns the instant one period earlier, subtracting units from years to milliseconds. Years and months are each
 * clamped to the last day of a shorter month. Returns -Infinity before the earliest representable instant.
 */
export function subtractPeriod(instantMs: number, period: Period): number {
  return shift(instantMs, period, -1)
}

/** Returns the instant one period later, like subtractPeriod; Infinity after the latest representable instant. */
export function addPeriod(instantMs: number, period: Period): number {
  return shift(instantMs, period, 1)
}
