/** Terminal output: tables, progress bars, durations, and counts; styled only on a terminal. */
export * from './progress-bar.ts'
export * from './table.ts'
export * from './text.ts'
