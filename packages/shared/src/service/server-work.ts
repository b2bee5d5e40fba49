import { describeError } from '@svc/domain/failure'
import { type FollowedUsers, followCoordinatorUsers, followStoredUsers, noUsers } from '../users/index.ts'
import type { ServiceContext, ServicePart } from './context.ts'
import { createWorkContext, type LastingContext, type StartedParts } from './create-context.ts'
import { retryWhileStoreIsUnavailable } from './retry-while-store-is-unavailable.ts'

/**
 * The work of a server: everything that it knows about the cluster, and does with it. Each reset of the cluster replaces
 * it, while ports, connections, and certificates stay.
 */
export interface ServerWork {
  readonly context: ServiceContext
  readonly part: ServicePart
  /** Loads users and roles, and starts the work of the role. Returns early if the server stops. */
  start(): Promise<void>
  /** Stops the work. `idle` resolves when no request is in progress. */
  stop(idle: Promise<void>): Promise<void>
}

/** Creates the work of a server, and builds the part of its role. */
export function createWork(
  lasting: LastingContext,
  started: StartedParts,
  build: (context: ServiceContext) => ServicePart,
): ServerWork {
  const ending = new AbortController()
  const context = createWorkContext(lasting, started, ending.signal)
  const { logger, stopping, simulatedClock, database } = context
  const part = build(context)
  let users: FollowedUsers | undefined
  let stopped: Promise<void> | undefined

  async function stopParts(idle: Promise<void>): Promise<void> {
    ending.abort()
    await part
      .stop()
      .catch((error) => logger.error('Failed to stop cleanly', { error: describeError(error) }))
    await idle
    await users?.stop()
    await simulatedClock?.stop()
    await database.close()
  }

  return {
    context,
    part,
    start: async () => {
      users = await retryWhileStoreIsUnavailable(() => followUsers(context), { logger, stopping })
      started.users = users
      await users.loaded
      if (!stopping.aborted) await part.start()
    },
    stop: (idle) => {
      stopped ??= stopParts(idle)
      return stopped
    },
  }
}

/** Follows users and roles in the store or at the coordinator, if any authenticator needs them. */
async function followUsers(
  context: Pick<ServiceContext, 'settings' | 'database' | 'client' | 'discovery' | 'readiness' | 'logger'>,
): Promise<FollowedUsers> {
  const { settings, database, logger } = context
  const needsLogin = settings
    .get('svc.auth.authenticatorChain')
    .some((name) => settings.getNamed('svc.auth.authenticator.<name>.type', name) === 'basic')
  if (!needsLogin) return noUsers()
  if (settings.role === 'coordinator') return await followStoredUsers(database, logger)
  return followCoordinatorUsers(context)
}
