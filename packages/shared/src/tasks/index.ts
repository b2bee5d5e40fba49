/** What coordinator and overlord both know of tasks: ids, and the tasks that either submits. */
export { type CompactSpec, isCompactTask, parseCompactSpec } from './compact-task.ts'
export { type KillSpec, newKillTask, parseKillSpec } from './kill-task.ts'
export { newTaskId } from './task-id.ts'
