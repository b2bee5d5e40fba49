import type { Logger } from '../runtime/index.ts'

/** One line that was logged. */
export interface LogLine {
  readonly level: 'error' | 'warn' | 'info' | 'debug'
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

/** A logger that keeps its lines for the test to read. */
export interface RecordingLogger extends Logger {
  readonly lines: readonly LogLine[]
  /** The lines with this message. */
  having(message: string): readonly LogLine[]
}

export function recordingLogger(): RecordingLogger {
  const lines: LogLine[] = []
  const writer =
    (level: LogLine['level']) =>
    (message: string, details: object = {}): void => {
      lines.push({ level, message, details: { ...details } })
    }
  return {
    lines,
    having: (message) => lines.filter((line) => line.message === message),
    error: writer('error'),
    warn: writer('warn'),
    info: writer('info'),
    debug: writer('debug'),
  }
}
