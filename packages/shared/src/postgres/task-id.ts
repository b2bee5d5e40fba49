import { randomInt } from 'node:crypto'
import { formatInstant, type Interval } from '@svc/domain/time'

/**
 * Returns a new task ID in Druid's format: type, datasource, eight letters, the interval if any, and the current time.
 */
export function newTaskId(type: string, dataSource: string, interval?: Interval): string {
  const letters = Array.from({ length: 8 }, () => 'abcdefghijklmnop'[randomInt(16)]).join('')
  const about = interval ? [formatInstant(interval.start), formatInstant(interval.end)] : []
  return [type, dataSource, letters, ...about, formatInstant(Date.now())].join('_')
}
