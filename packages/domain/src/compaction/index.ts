/**
 * Compaction: its configuration, which intervals to compact in which order and with how many task slots, and what a task
 * reads and writes.
 */
export * from './compaction-rate.ts'
export * from './compaction-segment.ts'
export * from './compaction-state.ts'
export * from './compare-plans.ts'
export * from './config/index.ts'
export * from './explain-compaction.ts'
export * from './forecast-compaction.ts'
export * from './order.ts'
export * from './plan-compaction.ts'
export * from './policy.ts'
export * from './preview-compaction.ts'
export * from './rewriting/index.ts'
export * from './schedule.ts'
export * from './slots.ts'
export * from './status.ts'
export * from './summarize-compaction.ts'
export * from './task-to-submit.ts'
