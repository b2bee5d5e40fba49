import { describeError } from '@svc/domain/failure'
import { roles } from '@svc/shared/config'
import type { DiscoveredNode } from '@svc/shared/discovery'
import type { ServiceContext } from '@svc/shared/service'
import { type FollowedUsers, knownVersionPath } from '@svc/shared/users'
import type { Leadership } from '../leadership/index.ts'

/** Tracks which version of users and roles each server uses. */
export interface UsersFollowers {
  /** Records that a server uses a version, because it requested anything newer. */
  noteVersion(server: string, version: number): void
  /**
   * Resolves when this coordinator and, if it is the leader, every live server use this version or a newer one, or after
   * six seconds. Returns the servers that do not.
   */
  untilKnown(version: number): Promise<readonly string[]>
  /** Does the same for all coordinators. Requests that change users or roles wait for it. */
  untilKnownEverywhere(): Promise<void>
}

const followingRoles = roles.filter((role) => role !== 'coordinator')

// A dead server counts as alive for this long. A server that lost its coordinator has reconnected by then.
const maxWaitMs = 6000
const pollPeriodMs = 100

/** Creates the tracker. Every server requests from the leader what is newer than its own version. */
export function createUsersFollowers(
  context: Pick<ServiceContext, 'discovery' | 'client' | 'logger' | 'node' | 'stopping' | 'users'>,
  leadership: Leadership,
): UsersFollowers {
  const { discovery, logger } = context
  const versions = new Map<string, number>()
  const waiting = new Set<() => void>()

  function silent(version: number): string[] {
    if (leadership.term() === undefined) return []
    return followingRoles
      .flatMap((role) => discovery.nodes(role).map(({ name }) => `${role} ${name}`))
      .filter((server) => (versions.get(server) ?? -1) < version)
  }

  async function untilKnown(version: number): Promise<readonly string[]> {
    const until = performance.now() + maxWaitMs
    for (;;) {
      const missing = silent(version)
      if (missing.length === 0 || performance.now() > until || context.stopping.aborted) return missing
      await nextChange(waiting)
    }
  }

  return {
    noteVersion: (server, version) => {
      versions.set(server, version)
      for (const wake of [...waiting]) wake()
    },
    untilKnown: async (version) => {
      const known = versionOf(context.users()) >= version ? version : await ownVersion(context)
      if (known === undefined || known < version) return [`coordinator ${context.node().name}`]
      return await untilKnown(version)
    },
    untilKnownEverywhere: async () => {
      const version = await ownVersion(context)
      if (version === undefined) return
      const own = context.node().name
      const others = discovery.nodes('coordinator').filter(({ name }) => name !== own)
      const missing = await Promise.all([
        untilKnown(version),
        ...others.map((other) => untilKnownAt(context, other, version)),
      ])
      const servers = [...new Set(missing.flat())]
      if (servers.length > 0)
        logger.warn(
          `Servers [${servers.join(', ')}] have not applied the latest change to users and roles yet; each one uses the previous version until it can reach the coordinator`,
        )
    },
  }
}

/** Returns the version that a server uses, or -1 if it has none yet. */
function versionOf(users: FollowedUsers): number {
  const current = users.current()
  return 'missing' in current ? -1 : current.version
}

/** Resolves when a server uses another version, or after `pollPeriodMs`. */
async function nextChange(waiting: Set<() => void>): Promise<void> {
  await new Promise<void>((resolve) => {
    const wake = () => {
      clearTimeout(timer)
      waiting.delete(wake)
      resolve()
    }
    const timer = setTimeout(wake, pollPeriodMs)
    waiting.add(wake)
  })
}

/** Returns the servers that, according to another coordinator, do not use a version yet. */
async function untilKnownAt(
  { client, logger }: Pick<ServiceContext, 'client' | 'logger'>,
  { name, baseUrl }: Pick<DiscoveredNode, 'name' | 'baseUrl'>,
  version: number,
): Promise<readonly string[]> {
  try {
    const path = `${knownVersionPath}?version=${version}`
    const timeoutMs = maxWaitMs + 2000
    return (await client.call<{ silent: string[] }>(baseUrl, { method: 'GET', path, timeoutMs })).silent
  } catch (error) {
    logger.debug('Failed to check whether another coordinator has applied a change to users and roles', {
      error: describeError(error),
    })
    return [`coordinator ${name}`]
  }
}

/** Returns the version of this coordinator after a refresh, or undefined if the store is unavailable. */
async function ownVersion({
  users,
  logger,
}: Pick<ServiceContext, 'logger' | 'users'>): Promise<number | undefined> {
  try {
    await users().refresh()
    return versionOf(users())
  } catch (error) {
    // The change is stored anyway. This server sees it as soon as the store is back.
    logger.debug('Failed to read users and roles after a change', { error: describeError(error) })
    return undefined
  }
}
