/** What is known about a file before it is ingested: its records, what its first rows show, and its task. */
export { type CsvFormat, csvRecords } from './csv-records.ts'
export * from './file-task.ts'
export { type InputSample, sampleInput } from './sample-input.ts'
