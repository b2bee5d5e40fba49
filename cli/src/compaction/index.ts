/** Compaction for people: what a file asks for, and plans, statuses and histories as tables. */
export * from './compaction-tables.ts'
export * from './read-request.ts'
