import { randomInt } from 'node:crypto'
import { formatInstant, type Interval } from '@svc/domain/time'

/** An id as the recorded system makes them: type, datasource, eight letters, the interval if there is one, time. */
export function newTaskId(type: string, dataSource: string, interval?: Interval): string {
  const letters = Array.from({ length: 8 }, () => 'abcdefghijklmnop'[randomInt(16)]).join('')
  const about = interval ? [formatInstant(interval.start), formatInstant(interval.end)] : []
  return [type, dataSource, letters, ...about, formatInstant(Date.now())].join('_')
}
