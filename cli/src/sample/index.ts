/** Writes sample data with times relative to today. */
export { sampleDays, startOfDay } from './sample-days.ts'
export { writeSample } from './write-sample.ts'
