/** What people see: tables, bars, steps with seconds, styled only where a terminal shows it. */
export * from './progress-bar.ts'
export * from './table.ts'
export * from './text.ts'
