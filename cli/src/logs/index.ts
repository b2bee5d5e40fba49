/** The logs of a home: shows the last lines of some or all processes, and follows new ones. */
export * from './log-tail.ts'
export * from './show-logs.ts'
