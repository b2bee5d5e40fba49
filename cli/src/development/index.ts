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

/** Loads the tools for wording, and TypeScript's parser with them, which the other commands start without. */
export const loadWriting = () => import('./writing/index.ts')
