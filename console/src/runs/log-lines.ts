/** A line of a task log. */
export interface LogLine {
  /** ISO 8601; undefined if the line is not a log entry, such as the output of a program. */
  readonly time?: string
  readonly level?: string
  readonly message: string
  /** All other fields, such as `rows=3 task=index_wiki`. */
  readonly details?: string
}

// The same in every line of a log.
const knownFields = new Set(['timestamp', 'level', 'message', 'service', 'server'])

/** Returns the lines of a log, whose entries are JSON objects. Lines that are something else stay as they are. */
export const logLines = (log: string): LogLine[] =>
  log
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(logLine)

function logLine(line: string): LogLine {
  const entry = objectIn(line)
  const { timestamp, level, message } = entry ?? {}
  if (entry === undefined || typeof message !== 'string') return { message: line }
  const details = Object.entries(entry)
    .filter(([name]) => !knownFields.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return {
    ...(typeof timestamp === 'string' ? { time: timestamp } : {}),
    ...(typeof level === 'string' ? { level } : {}),
    message,
    ...(details.length > 0 ? { details: details.join(' ') } : {}),
  }
}

function objectIn(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>
  } catch {
    // The first line may be the end of a longer one.
    return undefined
  }
}
