/** Queries: validates SQL and runs it with DuckDB, in processes that access only the given files. */

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
