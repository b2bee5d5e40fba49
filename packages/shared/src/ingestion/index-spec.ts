import type { DimensionType, MetricType } from '@svc/domain/segment'
import type { Granularity, Interval } from '@svc/domain/time'

/** A column by which rows are grouped. */
export interface DimensionSpec {
  readonly name: string
  readonly type: DimensionType
}

/** A column that is aggregated. */
export interface MetricSpec {
  readonly name: string
  readonly type: MetricType
  /** The column that is aggregated; empty for a count. */
  readonly fieldName: string
}

/** The source of the rows of an index task. */
export type InputSource =
  | { readonly type: 'inline'; readonly data: string }
  | {
      readonly type: 'local'
      readonly baseDir?: string | undefined
      /** Pattern for the names of files below baseDir: `*` matches any text, `?` one character. */
      readonly filter?: string | undefined
      readonly files: readonly string[]
    }
  | { readonly type: 'http'; readonly uris: readonly string[] }

/** The format of the input of an index task. */
export type InputFormat =
  | { readonly type: 'json' }
  | { readonly type: 'parquet' }
  | {
      readonly type: 'csv' | 'tsv'
      readonly delimiter: string
      /** Names of the columns; undefined if the first line of each file has them. */
      readonly columns: readonly string[] | undefined
      readonly skipHeaderRows: number
    }

/** A validated index_parallel task. */
export interface IndexSpec {
  readonly id: string | undefined
  readonly groupId: string | undefined
  readonly context: Readonly<Record<string, unknown>>
  readonly dataSource: string
  readonly timestamp: {
    readonly column: string
    readonly format: string
    /** Epoch milliseconds for rows without a timestamp. */
    readonly missingValueMs: number | undefined
  }
  /** If empty, every column that is not the timestamp, excluded, or used by a metric. */
  readonly dimensions: readonly DimensionSpec[]
  readonly dimensionExclusions: readonly string[]
  readonly metrics: readonly MetricSpec[]
  readonly segmentGranularity: Granularity
  readonly queryGranularity: Granularity
  readonly rollup: boolean
  /** Undefined if rows of any time are ingested. */
  readonly intervals: readonly Interval[] | undefined
  readonly inputSource: InputSource
  readonly inputFormat: InputFormat
  readonly appendToExisting: boolean
  readonly dropExisting: boolean
  readonly maxRowsPerSegment: number
  readonly maxParseExceptions: number
  readonly logParseExceptions: boolean
}
