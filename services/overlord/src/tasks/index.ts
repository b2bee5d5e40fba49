/** The life of a task: queued, claimed by a worker, run in a process of its own, published or failed. */
export { startTaskQueueing } from './queue-tasks.ts'
export { createTaskRunner, type TaskRunner, taskLogFile } from './task-runner.ts'
