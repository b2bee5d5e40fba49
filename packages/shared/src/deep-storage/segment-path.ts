import { formatInstant, type Interval } from '@svc/domain/time'
import { safeFileName } from './safe-file-name.ts'

/** A segment file before it is published: nobody but its task knows of it. */
export interface WrittenPartition {
  readonly dataSource: string
  readonly interval: Interval
  readonly partition: number
  /** What sets the task that writes it apart from all others. */
  readonly pathPrefix: string
}

/** Where in deep storage a new segment file goes, relative to its root: no two tasks write to one place. */
export function segmentPath({ dataSource, interval, partition, pathPrefix }: WrittenPartition): string {
  return [
    safeFileName(dataSource),
    `${formatInstant(interval.start)}_${formatInstant(interval.end)}`,
    safeFileName(pathPrefix),
    `${partition}.parquet`,
  ].join('/')
}
