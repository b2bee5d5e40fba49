import { setTimeout as delay } from 'node:timers/promises'
import { serverNameAt } from '@svc/domain/calls'
import { describeError } from '@svc/domain/failure'
import {
  type Fault,
  type FaultAim,
  faultsAimedAt,
  faultsAt,
  faultsBetween,
  faultsPath,
  isCut,
  readFaults,
  waitOf,
} from '@svc/domain/faults'
import type { DeepStorage } from '../deep-storage/index.ts'
import { type Database, loadConfig, type Queries } from '../postgres/index.ts'
import { createProblemLog, type Logger, startLoop } from '../runtime/index.ts'

/** Name of the configuration entry that stores the faults and their history. */
export const faultsConfigName = 'simulation.faults'

/** A server's request to itself: it crosses no network, and a leader that considered itself cut off would step down. */
export const ownCallPath = '/status/ready'

/**
 * Where servers fetch users and roles. Without them, a router that starts could not authenticate anyone to end a fault.
 */
const usersPaths = '/svc-internal/v1/security/'

/** How often a server polls the active faults; a fault with a kill probability is decided once per poll. */
const pollPeriodMs = 1000

/** The faults that affect one server. Results are random and may differ on each call. */
export interface ServerFaults {
  /** Whether to cut a connection between this server and another one now. */
  isCut(): boolean
  /** How long to delay a request to it now, in milliseconds. */
  requestDelayMs(): number
  /** How long to delay a disk access now, in milliseconds. */
  diskDelayMs(): number
}

/** The faults that affect this server. */
export interface Faults {
  /** Delays a request to `path` as the faults say. Returns `cut` if the connection must be cut. */
  applyFaults(path: string): Promise<'cut' | undefined>
  /** Delays a request from this server to another one as the faults say. Throws if the faults cut it. */
  applyToCall(baseUrl: string, path: string): Promise<void>
  /** How long to delay a disk access now, in milliseconds. */
  diskDelayMs(): number
  /** The faults that affect one virtual server of this process. */
  at(virtualServer: string): ServerFaults
  /** Registers a callback for faults that kill a target other than this process. */
  onKill(kill: (target: string) => void): void
  /** Reads the faults of the cluster again. */
  refresh(): Promise<void>
  stop(): Promise<void>
}

/** No faults, as on every cluster that is not a simulation. */
export const noFaults: Faults = {
  applyFaults: async () => undefined,
  applyToCall: async () => undefined,
  diskDelayMs: () => 0,
  at: () => ({ isCut: () => false, requestDelayMs: () => 0, diskDelayMs: () => 0 }),
  onKill: () => undefined,
  refresh: async () => undefined,
  stop: async () => undefined,
}

/** Returns the faults of the cluster, including ended ones, and the revision that a change must be based on. */
export async function loadFaults(
  database: Queries,
): Promise<{ readonly faults: readonly Fault[]; readonly revision: number }> {
  const stored = await loadConfig(database, faultsConfigName)
  return { faults: readFaults(JSON.parse(stored?.value ?? '[]')), revision: stored?.revision ?? 0 }
}

const wait = async (ms: number): Promise<void> => {
  if (ms > 0) await delay(ms)
}

/** Returns whether a fault kills its target now: once since this process started, or at each poll. */
function createKillDecision(startedAt: number): (fault: Fault) => boolean {
  const decided = new Set<string>()
  return ({ kind, id, once, since, probability }) => {
    if (kind !== 'kill') return false
    if (once) {
      if (since <= startedAt || decided.has(id)) return false
      decided.add(id)
    }
    return Math.random() < probability
  }
}

/** Follows the faults of the cluster. Calls `kill` when a fault kills this process. */
export function followFaults(
  database: Database,
  logger: Logger,
  aim: () => FaultAim | undefined,
  kill: () => void,
): Faults {
  const kills = createKillDecision(Date.now() - performance.now())
  const problemLog = createProblemLog(logger)
  let all: readonly Fault[] = []
  // Before the first read, the metadata tables may not exist yet; that is reported elsewhere.
  let wasRead = false
  let notifyKilled: (target: string) => void = () => undefined
  const on = (at = aim()): Fault[] =>
    all.length === 0 || !at ? [] : faultsAimedAt(faultsAt(all, Date.now()), at)
  const refresh = async (): Promise<void> => {
    all = (await loadFaults(database)).faults
    wasRead = true
  }
  const loop = startLoop(
    pollPeriodMs,
    async () => {
      const self = aim()
      if (!self) return
      await refresh()
      problemLog.over('Resumed reading the list of injected faults')
      for (const fault of faultsAt(all, Date.now()).filter(kills)) {
        if (faultsAimedAt([fault], self).length === 0) {
          notifyKilled(fault.target)
          continue
        }
        logger.warn('Killing this server because of an injected fault', { fault: fault.id })
        kill()
      }
    },
    (error) => {
      if (wasRead)
        problemLog.report('Failed to read the list of injected faults; keeping the last known ones', {
          error: describeError(error),
        })
    },
  )
  return {
    applyFaults: async (path) => {
      const active = on()
      if (active.length === 0 || isSpared(path)) return undefined
      if (isCut(active, Math.random)) return 'cut'
      await wait(waitOf(active, 'latency', Math.random))
      return undefined
    },
    applyToCall: async (baseUrl, path) => {
      const self = aim()
      if (all.length === 0 || !self || isSpared(path)) return
      const between = faultsBetween(faultsAt(all, Date.now()), self.name, serverNameAt(baseUrl) ?? '')
      if (isCut([...on(self), ...between], Math.random))
        throw new Error('an injected fault cut the connection')
      await wait(waitOf(between, 'latency', Math.random))
    },
    diskDelayMs: () => waitOf(on(), 'slow-disk', Math.random),
    at: (name) => ({
      isCut: () => isCut(on({ name }), Math.random),
      requestDelayMs: () => waitOf(on({ name }), 'latency', Math.random),
      diskDelayMs: () => waitOf(on({ name }), 'slow-disk', Math.random),
    }),
    onKill: (onKillTarget) => {
      notifyKilled = onKillTarget
    },
    refresh,
    stop: () => loop.stop(),
  }
}

const isSpared = (path: string): boolean =>
  path === ownCallPath ||
  path === faultsPath ||
  path.startsWith(`${faultsPath}/`) ||
  path.startsWith(usersPaths)

/** Wraps deep storage so that each access is delayed by `delayMs()` milliseconds. */
export function slowedBy(delayMs: () => number, storage: DeepStorage): DeepStorage {
  return {
    type: storage.type,
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
