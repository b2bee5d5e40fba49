import { formatInstant, type Interval } from '@svc/domain/time'
import { safeFileName } from './safe-file-name.ts'

/** A segment file before it is published. Only its task knows about it. */
export interface WrittenPartition {
  readonly dataSource: string
  readonly interval: Interval
  readonly partition: number
  /** Unique to the task that writes the file. */
  readonly pathPrefix: string
}

/**
 * Returns the path of a new segment file, relative to the root of deep storage. No two tasks write to the same path.
 */
export function segmentPath({ dataSource, interval, partition, pathPrefix }: WrittenPartition): string {
  return [
    datasourceFolder(dataSource),
    `${formatInstant(interval.start)}_${formatInstant(interval.end)}`,
    taskFolder(pathPrefix),
    `${partition}.parquet`,
  ].join('/')
}

/** The folder of a datasource, relative to the root. It contains one folder per interval. */
export const datasourceFolder = (dataSource: string): string => safeFileName(dataSource)

/** The folder for the files of a task, inside the folder of an interval. */
export const taskFolder = (pathPrefix: string): string => safeFileName(pathPrefix)
