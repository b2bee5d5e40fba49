/** What the first rows of a file show: its format, its columns, and which of them is the timestamp. */
export * from './sample-input.ts'
