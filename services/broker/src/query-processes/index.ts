/** Query processes: run validated queries with DuckDB, in processes that access only the given files, in a fair order. */

export type { QueryOwner } from './active-queries.ts'
export { nativeScalarType } from './native-type.ts'
export { createQueryProcesses, type QueryProcesses, type QuerySession } from './query-processes.ts'
export {
  type AnswerStyle,
  type DatasourceRelation,
  type QueryOrder,
  type QueryText,
  resultFormats,
  type SystemRelation,
} from './query-protocol.ts'
