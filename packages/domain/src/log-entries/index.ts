/** The entries in the logs of services and tasks. */
export { type LogEntry, parseLogEntry } from './parse-log-entry.ts'
