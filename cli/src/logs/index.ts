/** The logs of a home for people: the last lines of some or all processes, and what is added to them. */
export * from './log-tail.ts'
export * from './show-logs.ts'
