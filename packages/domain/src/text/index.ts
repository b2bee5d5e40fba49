/** Counts and sizes as people read them. */

export * from './amounts.ts'
export * from './format-duration.ts'
