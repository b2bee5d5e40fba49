/** Queries: what may be asked, and processes that answer it with DuckDB from the files they are given. */

export { nativeScalarType } from './native-type.ts'
export type { Parameter } from './parameter.ts'
export { queryFailure } from './query-failure.ts'
export { createQueryProcesses, type QueryProcesses, type QuerySession } from './query-processes.ts'
export {
  type AnswerStyle,
  type DatasourceRelation,
  type QueryOrder,
  type QueryText,
  type RelationFile,
  resultFormats,
  type SystemRelation,
} from './query-protocol.ts'
export type { QueryOwner } from './query-scheduler.ts'
export type { RunText, Statement, TableReference } from './read-statement.ts'
export { withWrittenNames } from './sql-functions/index.ts'
