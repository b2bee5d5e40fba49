/** Ingests a file into a datasource with a task of the overlord, and shows progress. */

export * from './index-task.ts'
export * from './ingest-file.ts'
export { findFile } from './input-file.ts'
export * from './progress-text.ts'
export * from './result-text.ts'
export * from './show-progress.ts'
export { readTaskLog } from './task.ts'
