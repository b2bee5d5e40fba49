import type { Interval } from '@svc/domain/time'
import { join, type Sql } from 'sql-template-tag'
import { sql } from './database.ts'
import { storedTime } from './stored-time.ts'

// The expression of the index segments_by_length.
const lengthClass = sql`greatest(5, least(11, length(to_hex((end_ms >> 1) - (start_ms >> 1)))))`

// From 35 minutes to 70 years; the last one includes all longer segments.
const lengthClasses = [5, 6, 7, 8, 9, 10, 11]

/** The segments of a class are shorter than this. */
const maxLengthMsOf = (number: number): number => (number === 11 ? Infinity : 2 * 16 ** number)

/**
 * Returns the rows of the segments of one datasource that overlap an interval, to be selected from. Postgres cannot tell how many
 * segments overlap an interval, and would read all of a datasource. Those of one length class are in a range of starts.
 */
export function overlappingSegments(dataSource: string, { start, end }: Interval): Sql {
  const ofClasses = lengthClasses.map(
    (number) => sql`
      SELECT * FROM segments WHERE datasource = ${dataSource} AND ${lengthClass} = ${number}
        AND start_ms >= ${storedTime(start - maxLengthMsOf(number))} AND start_ms < ${storedTime(end)}
        AND end_ms > ${storedTime(start)}`,
  )
  return sql`(${join(ofClasses, ' UNION ALL ')}) AS overlapping`
}

/** A condition for segments of one datasource within an interval. */
export const isWithin = ({ start, end }: Interval): Sql =>
  sql`${lengthClass} = ANY(${lengthClasses}::integer[]) AND start_ms >= ${storedTime(start)} AND start_ms < ${storedTime(end)}
    AND end_ms <= ${storedTime(end)}`
