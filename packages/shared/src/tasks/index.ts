/** The types of tasks: what each accepts, and how it runs. */
export { prepareCompaction, publishCompaction } from './compaction-work.ts'
export { killSegments } from './kill-segments.ts'
export { killTask, newKillTask, parseKillSpec } from './kill-task.ts'
export { parseCompactSpec } from './parse-compact-spec.ts'
export { publishIndex } from './publish-index-task.ts'
export type { Job, RunningTask, WorkEnd, WorkTools, Written } from './task-type.ts'
export { taskTypeOf, taskTypes } from './task-types.ts'
