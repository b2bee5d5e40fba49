import { statSync } from 'node:fs'
import type { Settings } from '../config/index.ts'
import { createProblemLog, type Logger, startLoop } from '../runtime/index.ts'
import { leafOf, validityProblem } from './key-store.ts'
import { loadTlsStores, storeFiles, type TlsStores } from './tls-stores.ts'

/** The stores of a server, reloaded whenever one of their files changes. */
export interface FollowedStores {
  current(): TlsStores
  /** Calls back after each change, until the returned function is called. */
  onChange(callback: () => void): () => void
  /** Why the server certificate in use, or the one now in its file, is not valid; undefined if both are. */
  ownProblem(): string | undefined
  stop(): Promise<void>
}

/** Stores that never change, for callers that have none on disk. */
export function fixedStores(stores: TlsStores): FollowedStores {
  return {
    current: () => stores,
    onChange: () => () => undefined,
    ownProblem: () => undefined,
    stop: async () => undefined,
  }
}

/**
 * Follows the files of the stores. If a changed file is invalid, the previous stores stay in use. `onProblem` receives
 * the reason then, and when the certificate in use expires; it receives undefined when the problem is gone.
 */
export function followStores(
  settings: Settings,
  first: TlsStores,
  logger: Logger,
  onProblem: (text: string | undefined) => void,
): FollowedStores {
  const files = storeFiles(settings)
  if (!settings.get('svc.server.https.reloadSslContext') || files.length === 0) return fixedStores(first)
  const problemLog = createProblemLog(logger)
  const callbacks = new Set<() => void>()
  let stores = first
  let seen = stateOf(files)
  let faults: readonly string[] = []
  const look = async (): Promise<void> => {
    const now = Date.now()
    const state = stateOf(files)
    if (state !== seen) {
      seen = state
      const loaded = await loadTlsStores(settings, now)
      if (loaded.kind === 'faulty') faults = loaded.problems
      else {
        faults = []
        stores = loaded.stores
        logger.info('Reloaded key stores and trust stores')
        for (const callback of callbacks) callback()
      }
    }
    const text = [...faults, ...expiryProblems(settings, stores, now)].join('; ')
    onProblem(text === '' ? undefined : text)
    if (text !== '') problemLog.report(text)
    else problemLog.over('Problems with key stores and trust stores were resolved')
  }
  const loop = startLoop(settings.get('svc.server.https.reloadSslContextSeconds') * 1000, look, (error) =>
    problemLog.report('Failed to check key stores and trust stores', { error: String(error) }),
  )
  return {
    current: () => stores,
    onChange: (callback) => {
      callbacks.add(callback)
      return () => void callbacks.delete(callback)
    },
    ownProblem: () => {
      const own = [
        ...faults.filter((fault) => fault.includes('[svc.server.https.keyStorePath]')),
        ...expiryProblems(settings, stores, Date.now()),
      ]
      return own.length === 0 ? undefined : own.join('; ')
    },
    stop: loop.stop,
  }
}

function expiryProblems(settings: Settings, { server }: TlsStores, now: number): string[] {
  const leaf = server && leafOf(server.identity)
  const problem = leaf && validityProblem(leaf, now)
  const path = settings.get('svc.server.https.keyStorePath')
  return problem ? [`The key store [${path}] from [svc.server.https.keyStorePath] ${problem}`] : []
}

/** Returns a text that changes whenever one of the files is written or replaced. */
function stateOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const stats = statSync(file, { throwIfNoEntry: false })
      return stats ? `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}` : 'missing'
    })
    .join()
}
