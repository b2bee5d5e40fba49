/** What those who work on the source need: the checks, the tests, the benchmarks, the generated pages. */

export * from './bench-compaction.ts'
export * from './bench-coordinator.ts'
export * from './bench-import.ts'
export { benchRequests } from './bench-requests.ts'
export * from './bench-rewriting.ts'
export * from './bench-security.ts'
export * from './bench-sql.ts'
export * from './bench-start.ts'
export * from './load-endpoints.ts'
export * from './run-checks.ts'
export * from './run-tests.ts'
export * from './write-documents.ts'
