import { bucketOf, type Granularity } from '@svc/domain/time'
import { floorDivision } from '../duckdb/index.ts'

const calendarUnits = { MONTH: 'month', QUARTER: 'quarter', YEAR: 'year' } as const

/**
 * Returns SQL for the start of the bucket that contains an instant (TIMESTAMP_MS); undefined for ALL, whose only bucket
 * has no start.
 */
export function bucketStartSql(granularity: Granularity, instant: string): string | undefined {
  if (granularity === 'ALL') return undefined
  if (granularity === 'NONE') return instant
  if (granularity in calendarUnits) {
    const unit = calendarUnits[granularity as keyof typeof calendarUnits]
    return `date_trunc('${unit}', ${instant})::TIMESTAMP_MS`
  }
  // All other buckets have the same length, so the start of one gives the starts of all.
  const { start, end } = bucketOf(granularity, 0)
  const bucket = floorDivision(`epoch_ms(${instant}) - (${start})`, end - start)
  return `epoch_ms(${bucket} * ${end - start} + (${start}))::TIMESTAMP_MS`
}
