/** Failures that are shown to users: one error class, one list of kinds. */
export * from './failure.ts'
