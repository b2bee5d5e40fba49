/**
 * The functions of queries: those of DuckDB that a query may call, and functions of Druid SQL that DuckDB does not have or
 * that behave differently, in terms of DuckDB's functions.
 */
export { isRewrittenAggregate, rewriteAggregate } from './aggregates.ts'
export { type CallArgument, definedFunctions } from './druid-functions.ts'
export { supportedFunctions, supportedTableFunctions } from './duckdb-functions.ts'
export { cutFunction, FunctionCalls, withWrittenNames } from './function-calls.ts'
export { textOf } from './parsed.ts'
export { type Edit, edited, placeBefore, type Shift, SqlText } from './sql-text.ts'
