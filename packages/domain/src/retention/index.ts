/** The decisions of a coordinator run: which rule applies to each segment, and everything that follows from it. */
export * from './load-status.ts'
export * from './plan-mark-used.ts'
export * from './plan-retention.ts'
export * from './rows-to-check.ts'
export * from './servers-without-storage.ts'
