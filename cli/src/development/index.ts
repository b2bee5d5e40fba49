/** What those who work on the source need: the checks and the tests. */
export * from './run-checks.ts'
export * from './run-tests.ts'
export * from './write-documents.ts'
