/** The shapes of what more than one role answers; those of one role stand beside its routes. */
export * from './compaction.ts'
export * from './rules.ts'
export * from './segments.ts'
