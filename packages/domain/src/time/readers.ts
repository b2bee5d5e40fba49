import { checked, described, type Reader, refuse } from '../validation/index.ts'
import { parseInstant } from './instant.ts'
import { type Interval, parseInterval } from './interval.ts'
import { type Period, parsePeriod } from './period.ts'

/** Reads an ISO 8601 interval. */
export const readInterval: Reader<Interval> = described(
  { type: 'string', description: 'ISO 8601 interval' },
  (json, field) => {
    if (typeof json !== 'string')
      throw refuse(field, json, 'an ISO 8601 interval such as [2026-01-01/2026-02-01]')
    return parseInterval(json, field)
  },
)

/** Reads an ISO 8601 interval that is not empty. */
export const readNonEmptyInterval = checked(
  readInterval,
  ({ start, end }) => start !== end,
  'a non-empty interval',
)

/** Reads an ISO 8601 period. */
export const readPeriod: Reader<Period> = described(
  { type: 'string', description: 'ISO 8601 period' },
  (json, field) => {
    if (typeof json !== 'string') throw refuse(field, json, 'an ISO 8601 period such as [P1M]')
    return parsePeriod(json, field)
  },
)

/** Reads an ISO 8601 date and time, as milliseconds since the epoch. */
export const readInstant: Reader<number> = described(
  { type: 'string', description: 'ISO 8601 date and time' },
  (json, field) => {
    if (typeof json !== 'string') throw refuse(field, json, 'an ISO 8601 date and time')
    return parseInstant(json, field)
  },
)
