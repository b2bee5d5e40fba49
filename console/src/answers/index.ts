/** Answers of the API that several folders read, without anything that needs a browser: tests import code that reads them. */

export type * from './access.ts'
export * from './certificates.ts'
export * from './compaction.ts'
