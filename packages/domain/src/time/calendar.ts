/** Milliseconds per UTC day. Epoch time has no leap seconds. */
export const dayMs = 86_400_000

/** A day in the proleptic Gregorian calendar. `month` is 1 to 12. */
export interface CalendarDay {
  readonly year: number
  readonly month: number
  readonly day: number
}

// Both conversions use 400-year eras that start on March 1, so that the leap day is the last day of a year
// (http://howardhinnant.github.io/date_algorithms.html). They work for every year and allocate no Date objects.
const daysOfEra = 146_097
const daysFromEraStartToEpoch = 719_468

/** Returns the number of days from 1970-01-01 to the day; negative for earlier days. */
export function daysFromCalendar(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year
  const era = Math.floor(marchYear / 400)
  const yearOfEra = marchYear - era * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * daysOfEra + dayOfEra - daysFromEraStartToEpoch
}

/** Returns the calendar day that is `days` after 1970-01-01. */
export function calendarFromDays(days: number): CalendarDay {
  const shifted = days + daysFromEraStartToEpoch
  const era = Math.floor(shifted / daysOfEra)
  const dayOfEra = shifted - era * daysOfEra
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}

/** Returns the number of days in a month. */
export function daysOfMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}
