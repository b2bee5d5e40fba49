import type { FailureCode, FailureContext } from '@svc/domain/failure'
import type { SegmentColumn } from '@svc/domain/segment'
import type { Parameter, RunText, Statement } from '../sql/index.ts'

/** The result formats, with Druid's names. */
export const resultFormats = ['object', 'array', 'objectLines', 'arrayLines', 'csv'] as const
export type ResultFormat = (typeof resultFormats)[number]

/** The format of the result. */
export interface AnswerStyle {
  readonly format: ResultFormat
  readonly header: boolean
  /** Whether the header includes native types. */
  readonly typesHeader: boolean
  /** Whether the header includes SQL types. */
  readonly sqlTypesHeader: boolean
}

/** A file of a relation, limited to the rows for which the SQL in `where` is true. */
export interface RelationFile {
  readonly path: string
  readonly where?: string | undefined
}

/** A datasource of a query. */
export interface DatasourceRelation {
  readonly name: string
  readonly files: readonly RelationFile[]
  /** String columns that the table has if there are no files. */
  readonly columnsWithoutFiles: readonly string[]
  /**
   * Lists of columns that the table has in addition to those of its files, in the order in which they appear. They
   * include the columns of files that were skipped because none of their rows matches.
   */
  readonly schemas?: readonly (readonly SegmentColumn[])[] | undefined
  /** Name of an additional column with the path of the row's file. */
  readonly fileColumn?: string
}

/** A system table: a file with one JSON object per line. */
export interface SystemRelation {
  readonly schema: 'sys' | 'information_schema'
  readonly name: string
  readonly file: string
  /** The columns with their SQL types, in order. */
  readonly columns: Readonly<Record<string, string>>
}

/** A query as submitted. */
export interface QueryText {
  readonly sql: string
  readonly parameters: readonly Parameter[]
  /** Name of the schema of the datasources. */
  readonly schema: string
}

/** A query to run. */
export interface QueryOrder {
  /** See QueryText. */
  readonly schema: string
  /** The query as submitted; line and column in failures refer to it. */
  readonly written: string
  readonly text: RunText
  readonly parameters: readonly Parameter[]
  readonly datasources: readonly DatasourceRelation[]
  readonly systemTables: readonly SystemRelation[]
  readonly style: AnswerStyle
  readonly spillDirectory: string
  readonly spillLimitBytes: number
  readonly memoryLimitBytes: number
  readonly threads: number
  /** Maximum number of rows; a result with more rows fails. */
  readonly maxRows: number
  /** Number of rows after which the result is cut off; undefined for no limit. */
  readonly outerLimit?: number | undefined
}

/** A command to a query process. */
export type QueryCommand =
  | ({ readonly kind: 'read' } & QueryText)
  | { readonly kind: 'run'; readonly order: QueryOrder }
  | { readonly kind: 'cancel' }

/** A message from a query process. The bytes of the result come through a pipe. */
export type QueryMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'read'; readonly statement: Statement }
  | { readonly kind: 'done'; readonly rows: number; readonly bytes: number }
  | {
      readonly kind: 'failed'
      readonly code: FailureCode
      readonly message: string
      readonly context: FailureContext
      /** Number of bytes of the result before the failure. */
      readonly bytes: number
    }

/** File descriptor to which a query process writes the result. */
export const answerDescriptor = 4
