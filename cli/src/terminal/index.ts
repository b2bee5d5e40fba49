/** Terminals: tables, prompts, progress bars, durations, and counts; styled only on a terminal. */
export { countOf, formatBytes, formatCount, formatDuration } from '@svc/domain/text'
export * from './fit-table.ts'
export * from './format-table.ts'
export * from './progress-bar.ts'
export * from './prompt.ts'
export * from './table.ts'
export * from './text.ts'
