// In this folder, because the command, tasks, and most tests load `runtime`, and this library takes a part of their start.
import winston from 'winston'
import type { Settings } from '../config/index.ts'
import type { Logger } from '../runtime/index.ts'

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
