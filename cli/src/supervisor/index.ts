/** Starts processes, starts them again when they die, with growing delay, and ends them without leaving one behind. */
export * from './restart-delay.ts'
export * from './supervisor.ts'
