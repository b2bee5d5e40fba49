/** What is known of segments and of who holds them, in compact columns: a million segments in some fifty megabytes. */
export * from './copy-table.ts'
export { hashNumber } from './hash-index.ts'
export * from './segment-table.ts'
