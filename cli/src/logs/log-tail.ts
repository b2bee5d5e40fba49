import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** As much of the end of a log as is looked through. */
const TAIL_BYTES = 64 * 1024

/** The last whole lines of a file from byte `from` on, at most about 64 KB of them; none when there is no file. */
export function lastLines(file: string, from = 0): string[] {
  let handle: number
  try {
    handle = openSync(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  try {
    const { size } = fstatSync(handle)
    const start = Math.max(Math.min(from, size), size - TAIL_BYTES)
    const buffer = Buffer.alloc(size - start)
    const length = readSync(handle, buffer, 0, buffer.length, start)
    const lines = buffer.toString('utf8', 0, length).split('\n')
    // The first line is cut when the reading began inside the file.
    return lines.slice(start > from ? 1 : 0).filter((line) => line.trim() !== '')
  } finally {
    closeSync(handle)
  }
}

/**
 * What the lines of a log say is wrong: the last error a service logged, the last FATAL of Postgres, an error that
 * was thrown, else the plain text at the end, which is how a service tells that its configuration is faulty. Undefined when nothing is.
 */
export function lastComplaint(lines: readonly string[]): string | undefined {
  const plain: string[] = []
  for (const line of lines.toReversed()) {
    const entry = parseEntry(line)
    if (!entry) {
      // A line of a service that a full disk or a killed process has cut says nothing.
      if (!isTorn(line)) plain.unshift(line)
      continue
    }
    if (plain.length > 0) break
    if (entry.level === 'error') return describeEntry(entry)
  }
  const fatal = plain.map((line) => /\b(?:FATAL|PANIC|ERROR): +(.*)/.exec(line)?.[1]).findLast(Boolean)
  // An error that nobody caught: its stack and the excerpt of the source around it help nobody here.
  const thrown = plain.findLast((line) => /^\w*Error(?: \[\w+\])?: /.test(line))
  return fatal ?? thrown ?? (plain.length > 0 ? plain.slice(-MOST_PLAIN_LINES).join('\n') : undefined)
}

/** Whether a line that is no entry has begun as one. */
const isTorn = (line: string): boolean => line.startsWith('{"')

const MOST_PLAIN_LINES = 10

/** One line as services log it. */
export interface LogEntry {
  readonly timestamp: string
  readonly level: string
  readonly message: string
  readonly [detail: string]: unknown
}

/** A line of a log as its parts; undefined when it is none of a service. */
export function parseEntry(line: string): LogEntry | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const entry = JSON.parse(line)
    return typeof entry.level === 'string' && typeof entry.message === 'string' ? entry : undefined
  } catch {
    return undefined
  }
}

function describeEntry({ message, error }: LogEntry): string {
  return typeof error === 'string' ? `${message}: ${error}` : message
}
