/** Logs JSON lines to standard output. */
export interface Logger {
  error(message: string, details?: object): void
  warn(message: string, details?: object): void
  info(message: string, details?: object): void
  debug(message: string, details?: object): void
}

/**
 * Creates a warning for a persistent problem that does not flood the log: it is logged immediately when its text
 * changes, then repeated at growing intervals of up to ten minutes.
 */
export function createProblemLog(logger: Logger): {
  report(message: string, details?: object): void
  over(message: string): void
} {
  let last = ''
  let nextAt = 0
  let waitMs = 0
  return {
    report: (message, details) => {
      const now = performance.now()
      if (message === last && now < nextAt) return
      waitMs = message === last ? Math.min(waitMs * 2, 600_000) : 10_000
      last = message
      nextAt = now + waitMs
      logger.warn(message, details)
    },
    over: (message) => {
      if (last === '') return
      last = ''
      logger.info(message)
    },
  }
}
