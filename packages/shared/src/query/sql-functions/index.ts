/** Functions of the recorded system's SQL that DuckDB lacks or understands otherwise, in terms of those it has. */
export { isRewrittenAggregate, rewriteAggregate } from './aggregates.ts'
export {
  type CallArgument,
  cutFunction,
  definedFunctions,
  FunctionCalls,
  withWrittenNames,
} from './function-calls.ts'
export { textOf } from './parsed.ts'
export { type Edit, edited, placeBefore, type Shift, SqlText } from './sql-text.ts'
