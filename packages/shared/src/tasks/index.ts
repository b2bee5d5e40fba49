/** What coordinator and overlord share about tasks: IDs, and the tasks that either submits. */

export { type KillSpec, killTaskShape, newKillTask, parseKillSpec } from './kill-task.ts'
export { type CompactSpec, compactTaskSchema, isCompactTask, parseCompactSpec } from './parse-compact-spec.ts'
export { newTaskId } from './task-id.ts'
