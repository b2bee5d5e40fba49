import { describeError } from '@svc/domain/failure'
import type { Listeners } from '../http/index.ts'
import type { SharedThrottle } from '../login-throttle/index.ts'
import { stackOf } from '../runtime/index.ts'
import type { ServiceContext, ServicePart } from './context.ts'
import type { StartedParts } from './create-context.ts'
import type { SecurityAudit } from './security-audit.ts'

// Max time to stop; users are promised ten seconds.
const maxStopMs = 9000
const requestGraceMs = 5000

/** Something that a server watches until it stops. */
export interface Watch {
  stop(): Promise<void>
}

/** What a server stops. */
export interface StoppableParts {
  readonly context: ServiceContext
  readonly stopping: AbortController
  readonly part: ServicePart
  readonly listeners: Listeners
  readonly audit: SecurityAudit
  readonly throttle: SharedThrottle | undefined
  readonly started: StartedParts
  readonly watches: readonly Watch[]
}

/** The process of a server, which runs one server at a time. */
export interface ServerProcess {
  /** Stops this server on a signal or an unexpected error, and exits. */
  run(server: StoppableParts): void
  /** Stops the server but not the process. Returns false if it is already stopping. */
  stopServer(): Promise<boolean>
  /** Whether the process is about to exit. */
  isEnding(): boolean
}

/** Creates the process of a server. */
export function createServerProcess(): ServerProcess {
  let server: StoppableParts | undefined
  let stopped: Promise<void> | undefined
  let isEnding = false
  const stopServer = async (): Promise<boolean> => {
    if (stopped !== undefined) return false
    server!.stopping.abort()
    stopped = stopParts(server!)
    await stopped
    return true
  }
  const end = async (signal: string, status: number): Promise<void> => {
    if (isEnding) return
    isEnding = true
    const { logger } = server!.context
    logger.info('Stopping', { signal })
    setTimeout(() => {
      logger.warn('Stopping took too long; exiting with work in progress')
      process.exit(status)
    }, maxStopMs).unref()
    await (stopped ?? stopServer())
    logger.info('Stopped')
    process.exit(status)
  }
  return {
    stopServer,
    isEnding: () => isEnding,
    run: (started) => {
      if (server === undefined) endOnSignals(end, () => server!.context.logger)
      server = started
      stopped = undefined
    },
  }
}

function endOnSignals(
  end: (signal: string, status: number) => Promise<void>,
  logger: () => ServiceContext['logger'],
): void {
  process.once('SIGTERM', () => end('SIGTERM', 0))
  process.once('SIGINT', () => end('SIGINT', 0))
  const crash = (error: unknown) => {
    logger().error('Stopping after an unexpected error', {
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
  part,
  listeners,
  audit,
  throttle,
  started,
  watches,
}: StoppableParts): Promise<void> {
  const { logger, discovery, stores, simulatedClock, faults, client, database, coordination } = context
  await Promise.all(watches.map((watch) => watch.stop()))
  await discovery.stop()
  // No new connections from here on. Requests in progress continue while the work is finished or handed over.
  const closed = listeners.close(requestGraceMs)
  await part.stop().catch((error) => logger.error('Failed to stop cleanly', { error: describeError(error) }))
  await closed
  await started.directory?.stop()
  await audit.stop()
  throttle?.stop()
  await stores.stop()
  await simulatedClock?.stop()
  await faults.stop()
  client.close()
  await Promise.all([database.close(), coordination.close()]).catch(() => undefined)
}
