import { setTimeout as delay } from 'node:timers/promises'
import { describeError } from '@svc/domain/failure'
import {
  type Fault,
  type FaultAim,
  faultsAimedAt,
  faultsAt,
  isCut,
  readFaults,
  waitOf,
} from '@svc/domain/faults'
import type { DeepStorage } from '../deep-storage/index.ts'
import { type Database, loadConfig, type Queries } from '../postgres/index.ts'
import { createTroubleLog, type Logger, startLoop } from '../runtime/index.ts'

/** The name under which the faults are kept, with their history. */
export const faultsConfigName = 'simulation.faults'

/** The path at which faults are switched on and off; they never strike it, or nobody could end them. */
export const faultsPath = '/svc/simulation/v1/faults'

/** What a server asks of itself: no network lies between, and whoever finds itself cut off would stop to lead. */
export const ownCallPath = '/status/ready'

/** Where servers fetch users and roles: a router that starts without them could let nobody in who ends a fault. */
const directoryPaths = '/svc-internal/v1/security/'

/** How often a server looks which faults are on; a kill with a time strikes once in each such time. */
const lookPeriodMs = 1000

/** What strikes one server; what is answered may be another each time. */
export interface StruckServer {
  /** Whether what comes to it or goes from it to another server now is broken off. */
  isCut(): boolean
  /** How long a request to it is to wait now, in milliseconds. */
  requestDelayMs(): number
  /** How long a use of the disk is to wait now, in milliseconds. */
  diskDelayMs(): number
}

/** The faults that strike this server. */
export interface Faults {
  /** Waits as long as a request to `path` is to; `cut` where it is to be broken off. */
  strikeRequest(path: string): Promise<'cut' | undefined>
  /** Whether a request of this server for `path` of another is to be broken off. */
  cutsCall(path: string): boolean
  /** How long a use of the disk is to wait now, in milliseconds. */
  diskDelayMs(): number
  /** What strikes one of the virtual servers of this process alone. */
  at(virtualServer: string): StruckServer
  /** From now on `kill` is told of each target that is not this process whenever a fault kills it. */
  onKill(kill: (target: string) => void): void
  stop(): Promise<void>
}

/** Without faults, as on every cluster that is no simulation. */
export const noFaults: Faults = {
  strikeRequest: async () => undefined,
  cutsCall: () => false,
  diskDelayMs: () => 0,
  at: () => ({ isCut: () => false, requestDelayMs: () => 0, diskDelayMs: () => 0 }),
  onKill: () => undefined,
  stop: async () => undefined,
}

/** The faults of the cluster, also those whose time is over, and the revision that a change of them starts from. */
export async function loadFaults(
  database: Queries,
): Promise<{ readonly faults: readonly Fault[]; readonly revision: number }> {
  const stored = await loadConfig(database, faultsConfigName)
  return { faults: readFaults(JSON.parse(stored?.value ?? '[]')), revision: stored?.revision ?? 0 }
}

const wait = async (ms: number): Promise<void> => {
  if (ms > 0) await delay(ms)
}

/** Follows the faults of the cluster; those that kill end this process through `kill`. */
export function followFaults(
  database: Database,
  logger: Logger,
  aim: () => FaultAim | undefined,
  kill: () => void,
): Faults {
  const startedAt = Date.now() - performance.now()
  const decided = new Set<string>()
  const trouble = createTroubleLog(logger)
  let all: readonly Fault[] = []
  // Until then the store may not have its tables yet, which is told elsewhere.
  let wasRead = false
  let tellKilled: (target: string) => void = () => undefined
  const on = (at = aim()): Fault[] =>
    all.length === 0 || !at ? [] : faultsAimedAt(faultsAt(all, Date.now()), at)

  /** Whether a fault kills what it aims at now: once since the start of this process, or in each period. */
  const kills = ({ kind, id, once, since, probability }: Fault): boolean => {
    if (kind !== 'kill') return false
    if (once) {
      if (since <= startedAt || decided.has(id)) return false
      decided.add(id)
    }
    return Math.random() < probability
  }
  const loop = startLoop(
    lookPeriodMs,
    async () => {
      const self = aim()
      if (!self) return
      all = (await loadFaults(database)).faults
      wasRead = true
      trouble.over('The faults can be read again')
      for (const fault of faultsAt(all, Date.now()).filter(kills)) {
        if (faultsAimedAt([fault], self).length === 0) {
          tellKilled(fault.target)
          continue
        }
        logger.warn('A fault that was asked for ends this server', { fault: fault.id })
        kill()
      }
    },
    (error) => {
      if (wasRead)
        trouble.tell('The faults cannot be read; they stay as they were', { error: describeError(error) })
    },
  )
  return {
    strikeRequest: async (path) => {
      const striking = on()
      if (striking.length === 0 || isSpared(path)) return undefined
      if (isCut(striking, Math.random)) return 'cut'
      await wait(waitOf(striking, 'latency', Math.random))
      return undefined
    },
    cutsCall: (path) => !isSpared(path) && isCut(on(), Math.random),
    diskDelayMs: () => waitOf(on(), 'slow-disk', Math.random),
    at: (name) => ({
      isCut: () => isCut(on({ name }), Math.random),
      requestDelayMs: () => waitOf(on({ name }), 'latency', Math.random),
      diskDelayMs: () => waitOf(on({ name }), 'slow-disk', Math.random),
    }),
    onKill: (tell) => {
      tellKilled = tell
    },
    stop: () => loop.stop(),
  }
}

const isSpared = (path: string): boolean =>
  path === ownCallPath ||
  path === faultsPath ||
  path.startsWith(`${faultsPath}/`) ||
  path.startsWith(directoryPaths)

/** Deep storage that waits before each use as long as it is told. */
export function slowedBy(delayMs: () => number, storage: DeepStorage): DeepStorage {
  return {
    push: async (...file) => {
      await wait(delayMs())
      return await storage.push(...file)
    },
    fetch: async (...file) => {
      await wait(delayMs())
      await storage.fetch(...file)
    },
    remove: async (loadSpec) => {
      await wait(delayMs())
      await storage.remove(loadSpec)
    },
    removeWritten: async (...written) => {
      await wait(delayMs())
      await storage.removeWritten(...written)
    },
  }
}
