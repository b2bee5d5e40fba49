import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type LogEntry, parseLogEntry } from '@svc/domain/log-entries'

/** Only this much of the end of a log is read. */
const tailBytes = 64 * 1024

/** The last complete lines of a file after byte `from`, about 64 KB at most; empty if the file does not exist. */
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
    const start = Math.max(Math.min(from, size), size - tailBytes)
    const buffer = Buffer.alloc(size - start)
    const length = readSync(handle, buffer, 0, buffer.length, start)
    const lines = buffer.toString('utf8', 0, length).split('\n')
    // The first line is incomplete if reading did not start at `from`.
    return lines.slice(start > from ? 1 : 0).filter((line) => line.trim() !== '')
  } finally {
    closeSync(handle)
  }
}

/**
 * The last error in the lines of a log: the last error entry of a service, the last FATAL of Postgres, an uncaught
 * error, or otherwise the plain text at the end, which is how a service reports an invalid configuration. Undefined if
 * there is none.
 */
export function lastErrorIn(lines: readonly string[]): string | undefined {
  const plain: string[] = []
  for (const line of lines.toReversed()) {
    const entry = parseLogEntry(line)
    if (!entry) {
      // A line that a full disk or a kill cut short is ignored.
      if (!isTorn(line)) plain.unshift(line)
      continue
    }
    if (plain.length > 0) break
    if (entry.level === 'error') return describeEntry(entry)
  }
  const fatal = plain.map((line) => /\b(?:FATAL|PANIC|ERROR): +(.*)/.exec(line)?.[1]).findLast(Boolean)
  // The stack and source excerpt of an uncaught error do not help here.
  const thrown = plain.findLast((line) => /^\w*Error(?: \[\w+\])?: /.test(line))
  const reason = fatal === noSockets ? unavailablePortIn(plain) : fatal
  return reason ?? fatal ?? thrown ?? (plain.length > 0 ? plain.slice(-maxPlainLines).join('\n') : undefined)
}

const noSockets = 'could not create any TCP/IP sockets'

/** Why Postgres cannot listen on its port: its last error, `noSockets`, does not say it. */
function unavailablePortIn(lines: readonly string[]): string | undefined {
  const text = lines.join('\n')
  const reason = /\bLOG: +(could not bind .*)/.exec(text)?.[1]
  const port = /\bHINT: .* on port (\d+)\?/.exec(text)?.[1]
  return reason === undefined || port === undefined ? undefined : `${reason} (port ${port})`
}

/** Whether a line is the beginning of an incomplete entry. */
const isTorn = (line: string): boolean => line.startsWith('{"')

const maxPlainLines = 10

function describeEntry({ message, details }: LogEntry): string {
  return typeof details.error === 'string' ? `${message}: ${details.error}` : message
}
