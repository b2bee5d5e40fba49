/**
 * Instants, intervals, periods, and granularities, in UTC and milliseconds since the epoch. Eternity ends are
 * infinities.
 */
export { dayMs } from './calendar.ts'
export * from './granularity.ts'
export * from './instant.ts'
export * from './interval.ts'
export * from './join-intervals.ts'
export * from './overlaps-of.ts'
export * from './period.ts'
export * from './readers.ts'
