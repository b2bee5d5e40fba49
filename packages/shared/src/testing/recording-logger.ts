import type { Logger } from '../runtime/index.ts'

/** One logged line. */
export interface LogLine {
  readonly level: 'error' | 'warn' | 'info' | 'debug'
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

/** A logger that records its lines for assertions. */
export interface RecordingLogger extends Logger {
  readonly lines: readonly LogLine[]
  /** Returns the lines with this message. */
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
