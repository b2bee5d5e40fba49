/** What people see: tables, steps with seconds, styled only where a terminal shows it. */
export * from './table.ts'
export * from './text.ts'
