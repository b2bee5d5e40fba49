/** The periodic duties of the overlord leader. */
export { startErasingOldTasks } from './erase-old-tasks.ts'
export { startTaskQueueing } from './queue-tasks.ts'
export { startCompactionScheduler } from './schedule-compaction.ts'
