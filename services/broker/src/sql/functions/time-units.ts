import { invalidInput } from '@svc/domain/failure'
import { type Period, parsePeriod } from '@svc/domain/time'
import type { Zone } from './time-zone.ts'

const bucketPeriods: Readonly<Record<string, string>> = {
  YEAR: 'P1Y',
  QUARTER: 'P3M',
  MONTH: 'P1M',
  WEEK: 'P1W',
  DAY: 'P1D',
  HOUR: 'PT1H',
  MINUTE: 'PT1M',
  SECOND: 'PT1S',
}

const allowed = (values: object): string => `one of [${Object.keys(values).join(', ')}]`

/** Returns the period of a unit, as in FLOOR(… TO unit). */
export function periodOfUnit(unit: string): Period {
  const period = bucketPeriods[unit.toUpperCase()]
  if (period === undefined)
    throw invalidInput(`Invalid value [${unit}] for [unit]: expected ${allowed(bucketPeriods)}`)
  return parsePeriod(period)
}

// SQL for each part of a local time.
const parts: Readonly<Record<string, (shown: string) => string>> = {
  MILLISECOND: (shown) => `(epoch_ms(${shown}) % 1000 + 1000) % 1000`,
  SECOND: (shown) => `second(${shown})`,
  MINUTE: (shown) => `minute(${shown})`,
  HOUR: (shown) => `hour(${shown})`,
  DAY: (shown) => `day(${shown})`,
  // Monday is 1 and Sunday is 7.
  DOW: (shown) => `isodow(${shown})`,
  ISODOW: (shown) => `isodow(${shown})`,
  DOY: (shown) => `dayofyear(${shown})`,
  WEEK: (shown) => `week(${shown})`,
  MONTH: (shown) => `month(${shown})`,
  QUARTER: (shown) => `quarter(${shown})`,
  YEAR: (shown) => `year(${shown})`,
  DECADE: (shown) => `year(${shown}) // 10`,
  CENTURY: (shown) => `century(${shown})`,
  MILLENNIUM: (shown) => `millennium(${shown})`,
}

/** Returns SQL for a part of an instant as an integer. */
export function partSql(instant: string, unit: string, zone: Zone): string {
  const name = unit.toUpperCase()
  if (name === 'EPOCH') return `epoch_ms(${instant}) // 1000`
  const part = parts[name]
  if (part === undefined)
    throw invalidInput(`Invalid value [${unit}] for [unit]: expected ${allowed({ EPOCH: 0, ...parts })}`)
  return `CAST(${part(zone.shown(instant))} AS BIGINT)`
}

const unitMs: Readonly<Record<string, number>> = {
  SECOND: 1000,
  MINUTE: 60_000,
  HOUR: 3_600_000,
  DAY: 86_400_000,
  WEEK: 604_800_000,
}
const unitMonths: Readonly<Record<string, number>> = { MONTH: 1, QUARTER: 3, YEAR: 12 }

/** Returns SQL for the number of complete units between two instants; negative if the second one is earlier. */
export function differenceSql(unit: string, from: string, to: string): string {
  const name = unit.toUpperCase()
  const ms = unitMs[name]
  if (ms !== undefined) return `(epoch_ms(${to}) - epoch_ms(${from})) // ${ms}`
  const months = unitMonths[name]
  if (months === undefined)
    throw invalidInput(
      `Invalid value [${unit}] for [unit]: expected ${allowed({ ...unitMs, ...unitMonths })}`,
    )
  return `CASE WHEN ${from} <= ${to} THEN ${fullMonths(from, to)} ELSE -${fullMonths(to, from)} END // ${months}`
}

function fullMonths(from: string, to: string): string {
  const begun = `date_diff('month', ${from}, ${to})`
  return `(${begun} - CASE WHEN ${from} + to_months(CAST(${begun} AS INTEGER)) > ${to} THEN 1 ELSE 0 END)`
}
