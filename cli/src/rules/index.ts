/** Retention rules for people: read from files, shown as tables, and the history of their changes. */
export * from './read-rules.ts'
export * from './rules-table.ts'
export * from './set-rules.ts'
