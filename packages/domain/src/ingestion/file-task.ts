import type { Granularity } from '../time/index.ts'

/** The type of ingestion tasks. */
export const indexTaskType = 'index_parallel'

/** Maximum length of the data that is part of a task, in bytes. */
export const maxInlineDataBytes = 10 * 1024 * 1024

/** How to ingest a file. */
export interface FileIngestion {
  readonly dataSource: string
  readonly timestampColumn: string
  /** A timestamp format of the overlord: `auto`, `iso`, `millis`, `posix`, or a pattern. */
  readonly timestampFormat: string
  readonly granularity: Granularity
  readonly format: 'csv' | 'json' | 'parquet'
  /** Whether to keep existing data; otherwise it is replaced in the time range of the new rows. */
  readonly append: boolean
  /** The columns to store; all if empty. */
  readonly dimensions: readonly string[]
}

/** Returns the task to submit to the overlord. `inputSource` is where it reads the file, such as a path or the data itself. */
export function fileTask(ingestion: FileIngestion, inputSource: object): Record<string, unknown> {
  const { dataSource, timestampColumn, timestampFormat, granularity, format, append, dimensions } = ingestion
  return {
    type: indexTaskType,
    spec: {
      dataSchema: {
        dataSource,
        timestampSpec: { column: timestampColumn, format: timestampFormat },
        dimensionsSpec: { dimensions },
        // Every row is kept. Users who want rollup submit their own task.
        granularitySpec: { segmentGranularity: granularity, queryGranularity: 'NONE', rollup: false },
      },
      ioConfig: {
        type: indexTaskType,
        inputSource,
        inputFormat: format === 'csv' ? { type: 'csv', findColumnsFromHeader: true } : { type: format },
        appendToExisting: append,
      },
    },
  }
}
