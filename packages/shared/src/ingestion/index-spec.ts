import type { DimensionType, MetricType } from '@svc/domain/segment'
import type { Granularity, Interval } from '@svc/domain/time'

/** A column that rows are told apart by. */
export interface DimensionSpec {
  readonly name: string
  readonly type: DimensionType
}

/** A column that is aggregated. */
export interface MetricSpec {
  readonly name: string
  readonly type: MetricType
  /** The column that is aggregated; of a count the empty text. */
  readonly fieldName: string
}

/** Where the rows of an index task come from. */
export type InputSource =
  | { readonly type: 'inline'; readonly data: string }
  | {
      readonly type: 'local'
      readonly baseDir?: string | undefined
      /** Which file names below baseDir: `*` stands for any text, `?` for one character. */
      readonly filter?: string | undefined
      readonly files: readonly string[]
    }
  | { readonly type: 'http'; readonly uris: readonly string[] }

/** How the input of an index task is written. */
export type InputFormat =
  | { readonly type: 'json' }
  | { readonly type: 'parquet' }
  | {
      readonly type: 'csv' | 'tsv'
      readonly delimiter: string
      /** Names of the columns; undefined where each file's first line has them. */
      readonly columns: readonly string[] | undefined
      readonly skipHeaderRows: number
    }

/** An index_parallel task, checked. */
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
  /** Empty: every column that is not the timestamp, excluded, or used by a metric. */
  readonly dimensions: readonly DimensionSpec[]
  readonly dimensionExclusions: readonly string[]
  readonly metrics: readonly MetricSpec[]
  readonly segmentGranularity: Granularity
  readonly queryGranularity: Granularity
  readonly rollup: boolean
  /** Undefined: rows of any time. */
  readonly intervals: readonly Interval[] | undefined
  readonly inputSource: InputSource
  readonly inputFormat: InputFormat
  readonly appendToExisting: boolean
  readonly dropExisting: boolean
  readonly maxRowsPerSegment: number
  readonly maxParseExceptions: number
  readonly logParseExceptions: boolean
}
