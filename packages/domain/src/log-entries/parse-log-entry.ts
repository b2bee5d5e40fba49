/** An entry in the log of a service or a task. */
export interface LogEntry {
  /** ISO 8601. */
  readonly timestamp: string
  readonly level: string
  readonly message: string
  /** All other fields, except those that are the same in every entry of a log. */
  readonly details: Readonly<Record<string, unknown>>
}

/**
 * Returns the entry in a line of a log. Returns undefined if the line is something else, such as the output of a program or a part of
 * a longer line.
 */
export function parseLogEntry(line: string): LogEntry | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const fields = JSON.parse(line) as Readonly<Record<string, unknown>>
    const { timestamp, level, message, service: _service, server: _server, ...details } = fields
    return typeof timestamp === 'string' && typeof level === 'string' && typeof message === 'string'
      ? { timestamp, level, message, details }
      : undefined
  } catch {
    return undefined
  }
}
