import { formatList } from '@svc/domain/text'
import { formatPeriod, type Period, periodOf } from '@svc/domain/time'

const units = ['years', 'months', 'weeks', 'days', 'hours', 'minutes', 'seconds'] as const

/** Returns an ISO 8601 period in words, such as `1 month and 7 days`; undefined if it is not valid. */
export function periodInWords(text: string): string | undefined {
  const period = periodOf(text)
  if (period === undefined) return undefined
  const parts = units
    .filter((unit) => period[unit] > 0)
    .map((unit) => `${period[unit]} ${period[unit] === 1 ? unit.slice(0, -1) : unit}`)
  return parts.length === 0 ? 'no time' : formatList(parts)
}

/** Returns an ISO 8601 period with one more of a unit; undefined if it is not valid. */
export function lengthenedPeriod(text: string, unit: keyof Period): string | undefined {
  const period = periodOf(text)
  return period && formatPeriod({ ...period, [unit]: period[unit] + 1 })
}
