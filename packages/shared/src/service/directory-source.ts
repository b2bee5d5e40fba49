import { describeError, Failure } from '@svc/domain/failure'
import type { ServiceClient } from '../client/index.ts'
import type { Settings } from '../config/index.ts'
import { type Database, loadSecurityDirectory, securityChannel } from '../postgres/index.ts'
import { createTroubleLog, growingDelay, type Logger, type Readiness, startLoop } from '../runtime/index.ts'
import type { DirectorySource, SecurityDirectory } from '../security/index.ts'

/** A directory that is kept up to date until it is stopped. */
export interface FollowedDirectory extends DirectorySource {
  /** Resolves when there is a directory. */
  readonly loaded: Promise<void>
  /** Calls back after each change, until the returned function is called. */
  onChange(callback: () => void): () => void
  /** Makes a change that this server has stored visible to its next request. */
  refresh(): Promise<void>
  stop(): Promise<void>
}

/** Where the directory is asked for, and how long an answer may be held back until something changes. */
export const directoryPath = '/svc-internal/v1/security/directory'
export const directoryWaitMs = 20_000

/** Where a coordinator asks another one whether its followers know a version. */
export const knownDirectoryPath = '/svc-internal/v1/security/known'

const emptyDirectory: SecurityDirectory = { version: 0, authenticators: {}, authorizers: {} }

/** The directory where nobody logs in. */
export function openDirectory(): FollowedDirectory {
  return {
    current: () => emptyDirectory,
    loaded: Promise.resolve(),
    onChange: () => () => undefined,
    refresh: async () => undefined,
    stop: async () => undefined,
  }
}

function createHolder(missing: string) {
  let directory: SecurityDirectory | undefined
  const callbacks = new Set<() => void>()
  let resolveLoaded: () => void = () => undefined
  const loaded = new Promise<void>((resolve) => {
    resolveLoaded = resolve
  })
  return {
    loaded,
    current: () => directory ?? { missing },
    version: () => directory?.version ?? -1,
    onChange: (callback: () => void) => {
      callbacks.add(callback)
      return () => callbacks.delete(callback)
    },
    replace: (next: SecurityDirectory) => {
      directory = next
      resolveLoaded()
      for (const callback of callbacks) callback()
    },
  }
}

// Notices tell of changes at once; this finds one whose notice was lost.
const storePollMs = 30_000

/** Follows the directory in the metadata store: the coordinator's way. */
export async function followStoredDirectory(database: Database, logger: Logger): Promise<FollowedDirectory> {
  const holder = createHolder('The users and roles have not been read from the metadata store yet')
  const trouble = createTroubleLog(logger)
  const load = async () => {
    const directory = await loadSecurityDirectory(database)
    // Two readings may be under way at once, and the older one may end last.
    if (directory.version > holder.version()) holder.replace(directory)
  }
  await load()
  const loop = startLoop(storePollMs, load, (error) =>
    trouble.tell('Users and roles cannot be read from the metadata store', { error: String(error) }),
  )
  try {
    await database.listen(securityChannel, loop.wake)
  } catch (error) {
    await loop.stop()
    throw error
  }
  // A change that was made before the listening began was told to nobody.
  loop.wake()
  return { ...holder, refresh: load, stop: loop.stop }
}

/** Follows the directory by asking the leading coordinator as the escalator: everyone else's way. */
export function followCoordinatorDirectory(
  client: ServiceClient,
  settings: Settings,
  readiness: Readiness,
  logger: Logger,
): FollowedDirectory {
  const holder = createHolder('The users and roles have not been fetched from the coordinator yet')
  const trouble = createTroubleLog(logger)
  const refusedDelay = growingDelay(50, 5000)
  // A coordinator that is back is noticed soon: until then this server decides by what was before.
  const awayDelay = growingDelay(50, 1000)
  const controller = new AbortController()
  const startedAt = performance.now()
  // After a failure the whole is asked for: an answer that waits for a change would leave the trouble standing.
  let isCutOff = false
  const fetchNewer = async (): Promise<void> => {
    const answer = await client.callLeader<{ directory: SecurityDirectory | null }>('coordinator', {
      method: 'GET',
      path: `${directoryPath}?version=${isCutOff ? -1 : holder.version()}`,
      timeoutMs: directoryWaitMs + 10_000,
      signal: controller.signal,
    })
    isCutOff = false
    if (answer.directory && answer.directory.version !== holder.version()) holder.replace(answer.directory)
  }
  const tellTrouble = (error: unknown): void => {
    if (controller.signal.aborted) return
    const text = describeTrouble(error, settings)
    readiness.setTrouble('directory', text)
    // While the cluster starts, the coordinator is not there yet for a moment: not worth a line.
    const mayPass = error instanceof Failure && error.code === 'unavailable' && !isAboutCertificate(error)
    if (!mayPass || performance.now() - startedAt > 5000) {
      trouble.tell(text)
    }
  }
  const loop = startLoop(
    0,
    async () => {
      try {
        await fetchNewer()
        refusedDelay.reset()
        awayDelay.reset()
        readiness.setTrouble('directory', undefined)
        trouble.over('Users and roles are fetched from the coordinator again')
        return 0
      } catch (error) {
        isCutOff = true
        tellTrouble(error)
        const isAway = error instanceof Failure && error.code === 'unavailable' && !isAboutCertificate(error)
        return (isAway ? awayDelay : refusedDelay).next()
      }
    },
    tellTrouble,
  )
  return {
    ...holder,
    refresh: async () => undefined,
    stop: async () => {
      controller.abort()
      await loop.stop()
    },
  }
}

function describeTrouble(error: unknown, settings: Settings): string {
  if (error instanceof Failure && error.code === 'unauthorized') {
    const user = settings.get('svc.escalator.internalClientUsername')
    return `The coordinator [${error.context.server}] refuses the escalator's credentials of user [${user}]; correct [svc.escalator.internalClientPassword] of this server, or [svc.auth.internalClientAllowedNetworks] of that one if it leaves out the address of this one`
  }
  if (error instanceof Failure && error.code === 'forbidden') {
    return `The coordinator [${error.context.server}] does not take the escalator's user for the internal one; [svc.escalator.internalClientUsername] must be the same on all servers`
  }
  const hint = isAboutCertificate(error)
    ? '; correct [svc.client.https.trustStorePath] or [svc.client.https.crlPath] of this server, or the certificate of that one'
    : ''
  return `Users and roles cannot be fetched from the coordinator: ${describeError(error)}${hint}`
}

/** Whether a call failed because the certificate of the other side does not hold. */
function isAboutCertificate(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
  return code !== undefined && /CERT|ISSUER|SIGNATURE|CRL/.test(code)
}
