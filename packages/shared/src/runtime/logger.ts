import winston from 'winston'
import type { Settings } from '../config/index.ts'

/** Logs JSON lines to standard output. */
export interface Logger {
  error(message: string, details?: object): void
  warn(message: string, details?: object): void
  info(message: string, details?: object): void
  debug(message: string, details?: object): void
}

/** Creates the logger of a server; every line includes the service and the server. */
export function createLogger(settings: Settings, server: string): Logger {
  const level = settings.get('svc.log.level')
  const logger = winston.createLogger({
    level,
    defaultMeta: { service: settings.get('svc.service'), server },
    format: winston.format.combine(winston.format.timestamp(), winston.format.json()),
    transports: [new winston.transports.Console({ forceConsole: true })],
  })
  // The library would format every line before it drops those below the level.
  const writer = (wanted: keyof Logger): Logger[keyof Logger] =>
    logger.isLevelEnabled(wanted)
      ? (message, details) => void logger[wanted](message, details)
      : () => undefined
  return { error: writer('error'), warn: writer('warn'), info: writer('info'), debug: writer('debug') }
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
