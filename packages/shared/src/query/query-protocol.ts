import type { FailureCode, FailureContext } from '@svc/domain/failure'
import type { SegmentColumn } from '@svc/domain/segment'
import type { Parameter } from './parameter.ts'
import type { RunText, Statement } from './read-statement.ts'

/** How rows are written, as the recorded system names it. */
export const resultFormats = ['object', 'array', 'objectLines', 'arrayLines', 'csv'] as const
export type ResultFormat = (typeof resultFormats)[number]

/** How the answer looks. */
export interface AnswerStyle {
  readonly format: ResultFormat
  readonly header: boolean
  /** The header tells types as segments have them. */
  readonly typesHeader: boolean
  /** The header tells types as SQL has them. */
  readonly sqlTypesHeader: boolean
}

/** A file of a relation; with `where`, only the rows for which that SQL is true. */
export interface RelationFile {
  readonly path: string
  readonly where?: string | undefined
}

/** A datasource as the query sees it. */
export interface DatasourceRelation {
  readonly name: string
  readonly files: readonly RelationFile[]
  /** Columns of texts that it has where there is no file to tell. */
  readonly columnsWithoutFiles: readonly string[]
  /**
   * Lists of columns that it has whatever its files have, in the order in which they come about: those of files that
   * were left out since none of their rows counts, too.
   */
  readonly schemas?: readonly (readonly SegmentColumn[])[] | undefined
  /** A further column of this name tells the path of a row's file. */
  readonly fileColumn?: string
}

/** A system table: rows of JSON, one a line. */
export interface SystemRelation {
  readonly schema: 'sys' | 'information_schema'
  readonly name: string
  readonly file: string
  /** The columns with their types in SQL, in order. */
  readonly columns: Readonly<Record<string, string>>
}

/** A query as it was asked. */
export interface QueryText {
  readonly sql: string
  readonly parameters: readonly Parameter[]
  /** The word by which datasources are named before the dot. */
  readonly schema: string
}

/** A query to be run. */
export interface QueryOrder {
  /** See QueryText. */
  readonly schema: string
  /** What was written, which places in failures are of. */
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
  /** An answer of more rows is a failure. */
  readonly mostRows: number
  /** Rows beyond that many are left out; undefined for none. */
  readonly outerLimit?: number | undefined
}

/** What a query process is told. */
export type QueryCommand =
  | ({ readonly kind: 'read' } & QueryText)
  | { readonly kind: 'run'; readonly order: QueryOrder }
  | { readonly kind: 'cancel' }

/** What a query process tells; the bytes of the answer come through a pipe. */
export type QueryMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'read'; readonly statement: Statement }
  | { readonly kind: 'done'; readonly rows: number; readonly bytes: number }
  | {
      readonly kind: 'failed'
      readonly code: FailureCode
      readonly message: string
      readonly context: FailureContext
    }

/** The descriptor through which a query process writes the answer. */
export const answerDescriptor = 4
