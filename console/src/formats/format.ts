import { formatCount } from '@svc/domain/text'
import { dayMs, formatInstant, formatInterval, parseInterval, periodOf } from '@svc/domain/time'

/** Returns the day of an instant, or the minute unless it is midnight, in UTC: `2026-01-31` or `2026-01-31 06:00`. */
export function formatTime(instantMs: number): string {
  if (instantMs === -Infinity) return 'the beginning'
  if (instantMs === Infinity) return 'the end'
  const text = formatInstant(instantMs)
  return instantMs % dayMs === 0 ? text.slice(0, -14) : text.slice(0, -8).replace('T', ' ')
}

/** Returns a time range in UTC: its first and last day (`2026-01-01 to 2026-01-31`), or when it starts and ends unless both are midnights. */
export function formatRange({ start, end }: { readonly start: number; readonly end: number }): string {
  const isDaily = [start, end].every((instant) => !Number.isFinite(instant) || instant % dayMs === 0)
  return isDaily ? formatDays(formatInterval({ start, end })) : `${formatTime(start)} to ${formatTime(end)}`
}

/** Returns the minute of an instant in UTC: `2026-01-31 06:00 UTC`. */
export const formatMinute = (instantMs: number): string =>
  `${formatInstant(instantMs).slice(0, 16).replace('T', ' ')} UTC`

/** Returns the first and the last day of an interval in ISO 8601, such as `2026-01-01 to 2026-01-31`, or its only day. */
export function formatDays(interval: string): string {
  const { start, end } = parseInterval(interval)
  const [from, to] = [start, end - 1].map((instant) => formatInstant(instant).split('T')[0]!)
  if (start === -Infinity) return end === Infinity ? 'all time' : `until ${to}`
  if (end === Infinity) return `since ${from}`
  return from === to ? from! : `${from} to ${to}`
}

/** Returns how long ago something happened: `3 min ago`. */
export const formatAge = (ms: number): string => `${formatSpan(ms)} ago`

/** Returns a duration in one unit: `3 min`. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`
  return `${formatCount(Math.round(seconds / 86_400))} days`
}

/** Returns an ISO 8601 duration such as `PT600S` in one unit: `10 min`. Durations with months or years stay as they are. */
export function formatDuration(text: string): string {
  const period = periodOf(text)
  if (period === undefined || period.years + period.months > 0) return text
  const { weeks, days, hours, minutes, seconds, millis } = period
  return formatSpan((weeks * 7 + days) * dayMs + ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis)
}

const numbered = new Intl.Collator('en', { numeric: true })

/** Compares names as people order them: `hot-2` comes before `hot-10`. */
export const byNumberedName = (a: string, b: string): number =>
  // Many servers have the same tier, and comparing its name each time would take as long as comparing their names.
  a === b ? 0 : numbered.compare(a, b)

/** Returns a share in percent with at most one digit after the point. */
export const formatShare = (part: number, total: number): string =>
  total === 0 ? '0%' : `${((100 * part) / total).toFixed(part / total < 0.1 ? 1 : 0)}%`

/** Returns a text that starts with a capital letter. */
export const capitalized = (text: string): string => text.replace(/^\w/, (letter) => letter.toUpperCase())
