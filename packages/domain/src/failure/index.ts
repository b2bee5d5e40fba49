/** What can go wrong in a way that people are told about: one error class, one list of kinds. */
export * from './failure.ts'
