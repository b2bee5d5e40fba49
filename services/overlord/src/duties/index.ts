/** What the leading overlord does again and again. */
export { startErasingOldTasks } from './erase-old-tasks.ts'
export { startTaskQueueing } from './queue-tasks.ts'
export { startCompactionScheduler } from './schedule-compaction.ts'
