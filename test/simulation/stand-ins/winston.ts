/** Stands in for the log library: the environment receives what servers log. */
import { environmentOf, runningProcess } from '../environment.ts'

const levels = ['error', 'warn', 'info', 'debug'] as const
type Level = (typeof levels)[number]

function createLogger(): Record<Level, (message: string, details?: object) => void> & {
  isLevelEnabled(level: string): boolean
} {
  const process = runningProcess()
  const { log } = environmentOf(process)
  const writer =
    (level: Level) =>
    (message: string, details: object = {}) =>
      log(process, level, message, details)
  return {
    error: writer('error'),
    warn: writer('warn'),
    info: writer('info'),
    debug: writer('debug'),
    isLevelEnabled: (level) => level !== 'debug',
  }
}

const format = { combine: () => undefined, timestamp: () => undefined, json: () => undefined }
class Console {}

// The product imports the library as a whole.
// biome-ignore lint/style/noDefaultExport: see above
export default { createLogger, format, transports: { Console } }
