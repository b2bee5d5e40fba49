/** SQL: which statements and functions are allowed, and how the functions of Druid SQL are rewritten for DuckDB. */

export { placeBefore, SqlText, withWrittenNames } from './functions/index.ts'
export type { Parameter } from './parameter.ts'
export { queryFailure } from './query-failure.ts'
export {
  checkRewritten,
  informationSchemaName,
  type RunText,
  readStatement,
  type Statement,
  type TableReference,
} from './read-statement.ts'
export { type TimeValue, withValues } from './time-conditions.ts'
