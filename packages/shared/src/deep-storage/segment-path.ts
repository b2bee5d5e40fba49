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
    datasourceFolder(dataSource),
    `${formatInstant(interval.start)}_${formatInstant(interval.end)}`,
    taskFolder(pathPrefix),
    `${partition}.parquet`,
  ].join('/')
}

/** The folder, relative to the root, that has one folder for each interval of a datasource. */
export const datasourceFolder = (dataSource: string): string => safeFileName(dataSource)

/** The folder, within that of an interval, that takes the files of a task. */
export const taskFolder = (pathPrefix: string): string => safeFileName(pathPrefix)
