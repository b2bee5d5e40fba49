/** Brings a file into a datasource by a task of the overlord, and tells how far that is. */
export * from './ask-patiently.ts'
export * from './index-task.ts'
export * from './ingest-file.ts'
export { findFile } from './input-file.ts'
export * from './progress-text.ts'
export * from './show-progress.ts'
export { readTaskLog } from './task.ts'
