/** Compaction on the command line: parses request files, and formats plans, statuses, and histories as tables. */
export * from './compaction-tables.ts'
export * from './read-request.ts'
export * from './schedule-tables.ts'
