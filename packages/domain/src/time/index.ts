/** Instants, intervals, periods and granularities: UTC, epoch milliseconds, the two ends of eternity as infinities. */
export * from './granularity.ts'
export * from './instant.ts'
export * from './interval.ts'
export * from './overlaps-of.ts'
export * from './period.ts'
