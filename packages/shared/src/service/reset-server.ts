import { setTimeout as delay } from 'node:timers/promises'
import { unavailable } from '@svc/domain/failure'
import type { CallJournal } from '../client/index.ts'
import type { Discovery } from '../discovery/index.ts'
import type { Refusals, RequestGate } from '../http/index.ts'
import type { SharedThrottle } from '../login-throttle/index.ts'
import type { SecurityAudit } from '../security-audit/index.ts'
import type { LastingContext, StartedParts } from './create-context.ts'
import { waitWithoutCaches } from './reset.ts'
import type { ServerWork } from './server-work.ts'

/** The parts of a server that take part in a reset of the cluster. */
export interface ResettableServer {
  readonly context: LastingContext
  readonly started: StartedParts
  readonly gate: RequestGate
  readonly audit: SecurityAudit
  readonly throttle: SharedThrottle | undefined
  readonly journal: Pick<CallJournal, 'clear'>
  readonly refusals: Refusals
  /** Returns the current work. */
  work(): ServerWork
  /** Replaces the work by new one, which has not started. */
  renewWork(): ServerWork
  /** Passes requests to the current work. */
  openGate(): void
}

// Requests in progress that take longer are not waited for.
const requestGraceMs = 2000

const leaderPollMs = 5
const maxLeaderWaitMs = 5000

/** Returns a function that takes part in a reset. It resolves when the server works with the new state. */
export function createReset(server: ResettableServer): () => Promise<void> {
  let inProgress: Promise<void> | undefined
  return async () => {
    if (!server.context.readiness.isReady()) throw unavailable('The server is starting')
    inProgress ??= resetServer(server).finally(() => {
      inProgress = undefined
    })
    await inProgress.catch((error) => {
      // A server that could not begin again does nothing. As after a failed start, its process ends and is restarted.
      setImmediate(() => {
        throw error
      })
      throw error
    })
  }
}

async function resetServer(server: ResettableServer): Promise<void> {
  const { context, started, gate, audit, throttle } = server
  const { settings, discovery, faults, stopping } = context
  const former = server.work()
  const begunAt = performance.now()
  // From here on, requests wait: those of other servers find this server as it was, or as it is after the reset.
  const stopped = former.stop(gate.close(requestGraceMs))
  // Forwarded requests may end only when the server that they wait for works again.
  await (former.part.isOnlyForwarding ? started.users?.stop() : stopped)
  await audit.startOver()
  throttle?.forget()
  for (const records of [server.journal, server.refusals.handshakes, server.refusals.requests])
    records.clear()
  const waitsSince = performance.now()
  await waitWithoutCaches(settings)
  if (stopping.aborted) return
  const beganAt = performance.now()
  started.users = undefined
  const work = server.renewWork()
  await Promise.all([work.context.simulatedClock?.start(), faults.refresh()])
  await work.start()
  server.openGate()
  await untilLeadersAreKnown(discovery, stopping)
  context.logger.info('This server was reset as part of a cluster reset', {
    stopMs: Math.round(waitsSince - begunAt),
    waitMs: Math.round(beganAt - waitsSince),
    startMs: Math.round(performance.now() - beganAt),
  })
}

/** Waits until this server knows the leaders, which were elected again. */
async function untilLeadersAreKnown(
  discovery: Pick<Discovery, 'hasLeader' | 'refresh'>,
  stopping: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + maxLeaderWaitMs
  while (!stopping.aborted && performance.now() < deadline) {
    await discovery.refresh()
    if (discovery.hasLeader('coordinator') && discovery.hasLeader('overlord')) return
    await delay(leaderPollMs)
  }
}
