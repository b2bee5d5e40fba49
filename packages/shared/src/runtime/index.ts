/** Basics of a process: logging, clock, repeated work, and readiness. */
export { type Clock, systemClock } from './clock.ts'
export { interfaceVersion } from './interface-version.ts'
export { dropOldest, keepNewest } from './keep-newest.ts'
export { LastEntries } from './last-entries.ts'
export { createLogger, createTroubleLog, type Logger } from './logger.ts'
export { growingDelay, type Loop, startLoop } from './loop.ts'
export { createReadiness, type Readiness } from './readiness.ts'
export { stackOf } from './stack-of.ts'
