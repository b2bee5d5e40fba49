import { describeError, Failure } from '@svc/domain/failure'
import type { ServiceClient } from '../client/index.ts'
import type { Settings } from '../config/index.ts'
import type { Discovery } from '../discovery/index.ts'
import { type Database, loadUsersAndRoles, securityChannel } from '../postgres/index.ts'
import { createProblemLog, growingDelay, type Logger, type Readiness, startLoop } from '../runtime/index.ts'
import type { UsersAndRoles, UsersSource } from '../security/index.ts'

/** Users and roles that are kept up to date until `stop`. */
export interface FollowedUsers extends UsersSource {
  /** Resolves when users and roles are loaded. */
  readonly loaded: Promise<void>
  /** Calls back after each change, until the returned function is called. */
  onChange(callback: () => void): () => void
  /** Makes a stored change of this server visible to its next request. */
  refresh(): Promise<void>
  stop(): Promise<void>
}

/** The path for users and roles, and how long a response may wait for a change. */
export const usersAndRolesPath = '/svc-internal/v1/security/directory'
export const usersAndRolesWaitMs = 20_000

/** The path at which a coordinator asks another one whether its followers have a version. */
export const knownVersionPath = '/svc-internal/v1/security/known'

const noUsersAndRoles: UsersAndRoles = { version: 0, authenticators: {}, authorizers: {} }

/** Returns the users and roles of a cluster without logins: none. */
export function noUsers(): FollowedUsers {
  return {
    current: () => noUsersAndRoles,
    loaded: Promise.resolve(),
    onChange: () => () => undefined,
    refresh: async () => undefined,
    stop: async () => undefined,
  }
}

function createHolder(missing: string) {
  let latest: UsersAndRoles | undefined
  const callbacks = new Set<() => void>()
  let resolveLoaded: () => void = () => undefined
  const loaded = new Promise<void>((resolve) => {
    resolveLoaded = resolve
  })
  return {
    loaded,
    current: () => latest ?? { missing },
    version: () => latest?.version ?? -1,
    onChange: (callback: () => void) => {
      callbacks.add(callback)
      return () => callbacks.delete(callback)
    },
    replace: (next: UsersAndRoles) => {
      latest = next
      resolveLoaded()
      for (const callback of callbacks) callback()
    },
  }
}

// Notifications report changes immediately; polling finds those whose notification was lost.
const storePollMs = 30_000

/** Follows users and roles in the metadata store, on a coordinator. */
export async function followStoredUsers(database: Database, logger: Logger): Promise<FollowedUsers> {
  const holder = createHolder('Users and roles have not been loaded from the metadata store yet')
  const problemLog = createProblemLog(logger)
  const load = async () => {
    const stored = await loadUsersAndRoles(database)
    // Two loads may be in progress, and the older one may finish last.
    if (stored.version > holder.version()) holder.replace(stored)
  }
  await load()
  const loop = startLoop(storePollMs, load, (error) =>
    problemLog.report('Failed to load users and roles from the metadata store', { error: String(error) }),
  )
  try {
    await database.listen(securityChannel, loop.wake)
  } catch (error) {
    await loop.stop()
    throw error
  }
  // Load again: there was no notification for a change before `listen`.
  loop.wake()
  return { ...holder, refresh: load, stop: loop.stop }
}

/** The parts of a server that follow users and roles at the coordinator. */
interface CoordinatorFollower {
  readonly client: ServiceClient
  readonly settings: Settings
  readonly discovery: Discovery
  readonly readiness: Readiness
  readonly logger: Logger
}

/** Follows users and roles by querying the coordinator leader as the escalator, on all other servers. */
export function followCoordinatorUsers({
  client,
  settings,
  discovery,
  readiness,
  logger,
}: CoordinatorFollower): FollowedUsers {
  const holder = createHolder('Users and roles have not been fetched from the coordinator yet')
  const problemLog = createProblemLog(logger)
  const refusedDelay = growingDelay(50, 5000)
  // Notice a returning coordinator soon: until then, this server uses its previous users and roles.
  const retryDelay = growingDelay(50, 1000)
  const controller = new AbortController()
  const startedAt = performance.now()
  // After a failure, request everything: waiting for a change would keep reporting the problem.
  let isCutOff = false
  const fetchNewer = async (): Promise<void> => {
    const answer = await client.callLeader<{ directory: UsersAndRoles | null }>('coordinator', {
      method: 'GET',
      path: `${usersAndRolesPath}?version=${isCutOff ? -1 : holder.version()}`,
      timeoutMs: usersAndRolesWaitMs + 10_000,
      signal: controller.signal,
    })
    isCutOff = false
    if (answer.directory && answer.directory.version !== holder.version()) holder.replace(answer.directory)
  }
  const reportProblem = (error: unknown): void => {
    if (controller.signal.aborted) return
    const text = describeProblem(error, settings)
    readiness.setProblem('users', text)
    // During startup of a cluster, the coordinator is unavailable for a moment: do not log that.
    const mayPass = error instanceof Failure && error.code === 'unavailable' && !isAboutCertificate(error)
    if (!mayPass || performance.now() - startedAt > 5000) {
      problemLog.report(text)
    }
  }
  const loop = startLoop(
    0,
    async () => {
      try {
        await fetchNewer()
        refusedDelay.reset()
        retryDelay.reset()
        readiness.setProblem('users', undefined)
        problemLog.over('Resumed fetching users and roles from the coordinator')
        return 0
      } catch (error) {
        isCutOff = true
        reportProblem(error)
        const isUnavailable =
          error instanceof Failure && error.code === 'unavailable' && !isAboutCertificate(error)
        return (isUnavailable ? retryDelay : refusedDelay).next()
      }
    },
    reportProblem,
  )
  const unwatch = discovery.onNewLeader('coordinator', () => {
    retryDelay.reset()
    loop.wake()
  })
  return {
    ...holder,
    refresh: async () => undefined,
    stop: async () => {
      unwatch()
      controller.abort()
      await loop.stop()
    },
  }
}

function describeProblem(error: unknown, settings: Settings): string {
  if (error instanceof Failure && error.code === 'unauthorized') {
    const user = settings.get('svc.escalator.internalClientUsername')
    return `Coordinator [${error.context.server}] rejected the escalator credentials of user [${user}]. Correct [svc.escalator.internalClientPassword] on this server, or allow this server's address in [svc.auth.internalClientAllowedNetworks] on the coordinator`
  }
  if (error instanceof Failure && error.code === 'forbidden') {
    return `Coordinator [${error.context.server}] does not accept the escalator user as the internal user. Set the same [svc.escalator.internalClientUsername] on all servers`
  }
  const hint = isAboutCertificate(error)
    ? '. Correct [svc.client.https.trustStorePath] or [svc.client.https.crlPath] on this server, or the certificate of the coordinator'
    : ''
  return `Failed to fetch users and roles from the coordinator: ${describeError(error)}${hint}`
}

/** Returns whether a call failed because of an invalid certificate of the peer. */
function isAboutCertificate(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
  return code !== undefined && /CERT|ISSUER|SIGNATURE|CRL/.test(code)
}
