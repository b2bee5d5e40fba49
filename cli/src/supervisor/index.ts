/** Starts processes, restarts them with increasing delay when they die, and stops them completely. */
export * from './restart-delay.ts'
export * from './supervisor.ts'
