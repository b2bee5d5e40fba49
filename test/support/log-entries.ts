import type { TestCluster } from './test-cluster.ts'

/** One line that a service has logged. */
export interface LogEntry {
  readonly timestamp: string
  readonly level: string
  readonly service: string
  readonly message: string
  readonly [detail: string]: unknown
}

/** What a service has logged, oldest first. Throws when it has printed a whole line that is none of a log. */
export function logEntries(cluster: TestCluster, instance: string): LogEntry[] {
  // The last line may be half written.
  const lines = cluster.logOf(instance).split('\n').slice(0, -1)
  return lines.map((line) => {
    const entry = JSON.parse(line) as LogEntry
    if (typeof entry.message !== 'string' || Number.isNaN(Date.parse(entry.timestamp))) throw new Error(line)
    return entry
  })
}
