/** What is compacted: which intervals, in which order, with how many task slots, and how far a datasource has come. */
export * from './compaction-segment.ts'
export * from './compaction-state.ts'
export * from './order.ts'
export * from './plan-compaction.ts'
export * from './policy.ts'
export * from './slots.ts'
