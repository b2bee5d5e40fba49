/** The life of a task on a worker: claimed, run in its own process, and published or failed. */
export { prepareCompaction, publishCompaction } from './compact-segments.ts'
export { killSegments } from './kill-segments.ts'
export type { PeonOrder } from './peon-protocol.ts'
export { publishIndex } from './publish-index-task.ts'
export { runPeon } from './run-peon.ts'
export { createTaskRunner, type TaskRunner, taskLogFile } from './task-runner.ts'
export { watchTaskRunner } from './watch-task-runner.ts'
