/** Retention rules for people: read from files, shown as tables, and the history of their changes. */
export * from './preview-request.ts'
export * from './preview-text.ts'
export * from './read-rules.ts'
export * from './rules-diff.ts'
export * from './rules-table.ts'
export * from './set-rules.ts'
export * from './timeline-picture.ts'
export * from './warnings-text.ts'
