/** The active faults of a running simulation. */
export * from './answered-fault.ts'
