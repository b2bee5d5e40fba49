/** Queries: SQL and native, answered from the segments that are visible at one moment. */
export { createQueries } from './create-queries.ts'
