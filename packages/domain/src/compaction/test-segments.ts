import { segmentId } from '../segment/index.ts'
import { type Interval, parseInterval } from '../time/index.ts'
import type { CompactionSegment } from './index.ts'

/** Returns a test segment. By default it has 100 bytes and 10 rows, was never compacted, and is alone in its group. */
export function testSegment(
  interval: string | Interval,
  more: Partial<Omit<CompactionSegment, 'interval' | 'id'>> = {},
): CompactionSegment {
  const key = {
    dataSource: 'wiki',
    version: '1',
    partitionNum: 0,
    ...more,
    interval: typeof interval === 'string' ? parseInterval(interval) : interval,
  }
  const segment = { partitions: 1, sizeBytes: 100, totalRows: 10, lastCompactionState: undefined, ...key }
  return { ...segment, id: segmentId(segment) }
}
