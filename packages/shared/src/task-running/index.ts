/** The life of a task on a worker: claimed, run in its own process, and published or failed. */
export type { PeonOrder } from './peon-protocol.ts'
export { runPeon } from './run-peon.ts'
export { openTaskLogs, taskLogFile, taskLogName } from './task-logs.ts'
export { taskNeedsOf } from './task-needs.ts'
export { createTaskRunner, type TaskRunner } from './task-runner.ts'
export { registerTaskRunnerMetrics } from './task-runner-metrics.ts'
