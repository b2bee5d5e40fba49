/** Faults that users inject into a simulation: their kinds, targets, and duration. */
export * from './fault.ts'
