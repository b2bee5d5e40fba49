/** Writes sample data with times relative to today. */
export { type SampleOptions, sampleDays } from './sample-days.ts'
export { writeSample } from './write-sample.ts'
