/** Development tools: checks, tests, benchmarks, and generated documents. */

export * from './bench-compaction.ts'
export * from './bench-compaction-times.ts'
export * from './bench-coordinator.ts'
export * from './bench-durations.ts'
export * from './bench-explanations.ts'
export * from './bench-import.ts'
export * from './bench-previews.ts'
export { benchRequests } from './bench-requests.ts'
export * from './bench-rewriting.ts'
export * from './bench-security.ts'
export * from './bench-sql.ts'
export * from './bench-start.ts'
export * from './bench-test-clusters.ts'
export { commandsDocument } from './commands-document.ts'
export { createPackage } from './create-package.ts'
export * from './load-endpoints.ts'
export * from './run-checks.ts'
export * from './run-tests.ts'
export * from './write-documents.ts'

// TypeScript's parser is loaded with these tools only, because the other commands start without it.

/** Loads the tools for wording. */
export const loadWriting = () => import('./writing/index.ts')

/** Loads the check of the length of functions. */
export const loadLongFunctions = () => import('./long-functions.ts')
