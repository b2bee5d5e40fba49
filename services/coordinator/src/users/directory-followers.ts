import { describeError } from '@svc/domain/failure'
import { roles } from '@svc/shared/config'
import { type FollowedDirectory, knownDirectoryPath, type ServiceContext } from '@svc/shared/service'
import type { Leadership } from '../leadership/index.ts'

/** Which version of users and roles the servers have, as far as they have told. */
export interface DirectoryFollowers {
  /** A server has asked for what is newer than this version: it decides by this one. */
  heard(server: string, version: number): void
  /**
   * Resolves when this coordinator and, where it leads, every server that is known to be alive decides by this version
   * or a newer one, or after six seconds; answers with those that do not.
   */
  untilKnown(version: number): Promise<readonly string[]>
  /** The same for all coordinators: what a change waits for before it is answered. */
  untilKnownEverywhere(): Promise<void>
}

const followingRoles = roles.filter((role) => role !== 'coordinator')

// A server that died is taken for alive so long, and one that lost its coordinator asks again by then.
const longestWaitMs = 6000
const lookPeriodMs = 100

/** Follows the followers: each asks the leader for what is newer than the version that it has. */
export function createDirectoryFollowers(
  context: ServiceContext,
  leadership: Leadership,
): DirectoryFollowers {
  const { discovery, client, logger } = context
  const versions = new Map<string, number>()
  const waiting = new Set<() => void>()

  function silent(version: number): string[] {
    if (leadership.term() === undefined) return []
    return followingRoles
      .flatMap((role) => discovery.nodes(role).map(({ name }) => `${role} ${name}`))
      .filter((server) => (versions.get(server) ?? -1) < version)
  }

  async function untilKnown(version: number): Promise<readonly string[]> {
    const until = performance.now() + longestWaitMs
    for (;;) {
      const missing = silent(version)
      if (missing.length === 0 || performance.now() > until || context.stopping.aborted) return missing
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          waiting.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, lookPeriodMs)
        waiting.add(wake)
      })
    }
  }

  /** What another coordinator says of the servers that follow it. */
  async function untilKnownAt(name: string, baseUrl: string, version: number): Promise<readonly string[]> {
    try {
      const path = `${knownDirectoryPath}?version=${version}`
      const timeoutMs = longestWaitMs + 2000
      return (await client.call<{ silent: string[] }>(baseUrl, { method: 'GET', path, timeoutMs })).silent
    } catch (error) {
      logger.debug('Another coordinator could not be told of a change', { error: describeError(error) })
      return [`coordinator ${name}`]
    }
  }

  /** The version that this coordinator decides by once it has looked; undefined where the store is away. */
  async function ownVersion(): Promise<number | undefined> {
    try {
      await context.directory().refresh()
      return versionOf(context.directory())
    } catch (error) {
      // The change is stored all the same, and is heard of as soon as the store is back.
      logger.debug('Users and roles cannot be read after a change', { error: describeError(error) })
      return undefined
    }
  }

  return {
    heard: (server, version) => {
      versions.set(server, version)
      for (const wake of [...waiting]) wake()
    },
    untilKnown: async (version) => {
      const known = versionOf(context.directory()) >= version ? version : await ownVersion()
      if (known === undefined || known < version) return [`coordinator ${context.node().name}`]
      return await untilKnown(version)
    },
    untilKnownEverywhere: async () => {
      const version = await ownVersion()
      if (version === undefined) return
      const own = context.node().name
      const others = discovery.nodes('coordinator').filter(({ name }) => name !== own)
      const missing = await Promise.all([
        untilKnown(version),
        ...others.map(({ name, baseUrl }) => untilKnownAt(name, baseUrl, version)),
      ])
      const servers = [...new Set(missing.flat())]
      if (servers.length > 0)
        logger.warn(
          `A change of users and roles is not known to [${servers.join(', ')}] yet; they decide by what was before until they reach the coordinator`,
        )
    },
  }
}

/** The version that a server decides by; -1 where it has none yet. */
function versionOf(directory: FollowedDirectory): number {
  const current = directory.current()
  return 'missing' in current ? -1 : current.version
}
