/** What one coordinator run decides: which rule each segment falls under, and all that follows from it. */
export * from './load-status.ts'
export * from './plan-mark-used.ts'
export * from './plan-retention.ts'
export * from './servers-that-cannot-hold.ts'
