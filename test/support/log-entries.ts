import type { TestCluster } from './test-cluster.ts'

/** One line logged by a service. */
export interface LogEntry {
  readonly timestamp: string
  readonly level: string
  readonly service: string
  readonly message: string
  readonly [detail: string]: unknown
}

/** Returns the log entries of a service, oldest first. Throws if a complete line is not a log entry. */
export function logEntries(cluster: TestCluster, instance: string): LogEntry[] {
  // The last line may be incomplete.
  const lines = cluster.logOf(instance).split('\n').slice(0, -1)
  return lines.map((line) => {
    const entry = JSON.parse(line) as LogEntry
    if (typeof entry.message !== 'string' || Number.isNaN(Date.parse(entry.timestamp))) throw new Error(line)
    return entry
  })
}
