/** The active faults of a running simulation. */
export * from './fault-text.ts'
