import { describeError } from '@svc/domain/failure'
import type { Listeners } from '../http/index.ts'
import type { SharedThrottle } from '../login-throttle/index.ts'
import { stackOf } from '../runtime/index.ts'
import type { SecurityAudit } from '../security-audit/index.ts'
import type { ServiceContext } from './context.ts'
import type { LastingContext } from './create-context.ts'
import type { ServerWork } from './server-work.ts'

// Max time to stop; users are promised ten seconds.
const maxStopMs = 9000
const requestGraceMs = 5000

/** Something that a server watches until it stops. */
export interface Watch {
  stop(): Promise<void>
}

/** What a server stops. */
export interface StoppableParts {
  readonly context: LastingContext
  readonly stopping: AbortController
  /** Returns the current work. */
  readonly work: () => ServerWork
  readonly listeners: Listeners
  readonly audit: SecurityAudit
  readonly throttle: SharedThrottle | undefined
  readonly watches: readonly Watch[]
}

/** Stops a server on a signal or an unexpected error, and exits. */
export function stopOnSignals(server: StoppableParts): void {
  const { logger } = server.context
  let isEnding = false
  const end = async (signal: string, status: number): Promise<void> => {
    if (isEnding) return
    isEnding = true
    logger.info('Stopping', { signal })
    setTimeout(() => {
      logger.warn('Stopping took too long; exiting with work in progress')
      process.exit(status)
    }, maxStopMs).unref()
    server.stopping.abort()
    await stopParts(server)
    logger.info('Stopped')
    process.exit(status)
  }
  endOnSignals(end, logger)
}

function endOnSignals(
  end: (signal: string, status: number) => Promise<void>,
  logger: ServiceContext['logger'],
): void {
  process.once('SIGTERM', () => end('SIGTERM', 0))
  process.once('SIGINT', () => end('SIGINT', 0))
  const crash = (error: unknown) => {
    logger.error('Stopping after an unexpected error', {
      error: describeError(error),
      stack: stackOf(error),
    })
    end('failure', 1)
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)
}

/** Stops everything in the order in which it depends on each other. */
async function stopParts({
  context,
  work,
  listeners,
  audit,
  throttle,
  watches,
}: StoppableParts): Promise<void> {
  const { discovery, stores, faults, client, database, coordination } = context
  await Promise.all(watches.map((watch) => watch.stop()))
  await discovery.stop()
  // No new connections from here on. Requests in progress continue while the work is finished or handed over.
  await work().stop(listeners.close(requestGraceMs))
  await audit.stop()
  throttle?.stop()
  await stores.stop()
  await faults.stop()
  client.close()
  await Promise.all([database.close(), coordination.close()]).catch(() => undefined)
}
