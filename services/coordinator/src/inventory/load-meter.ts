import { describeError } from '@svc/domain/failure'
import { addMeasured, type LoadRate, type LoadSums, noLoads, rateOf } from '@svc/domain/load-time'
import { type Database, loadLoadRates, saveLoadRates } from '@svc/shared/postgres'
import type { Logger } from '@svc/shared/runtime'

/** A load that a server has completed. */
export interface CompletedLoad {
  readonly server: string
  readonly sizeBytes: number
  /** When it was requested and when it was reported, in milliseconds of the monotonic clock of this process. */
  readonly sentAtMs: number
  readonly nowMs: number
}

/** Measures how fast servers load segments, and keeps that in the metadata store. */
export interface LoadMeter {
  note(load: CompletedLoad): void
  /** Returns the rate of a server, or undefined if it has not been measured. */
  rateOf(server: string): LoadRate | undefined
  /** Returns what a server loaded while it was measured, with recent loads counting more; undefined if it was not. */
  sumsOf(server: string): Pick<LoadSums, 'ms' | 'segments' | 'bytes'> | undefined
  /** Reads what earlier leaders have measured. */
  restart(): Promise<void>
  /** Stores what was measured since the last call. */
  save(): Promise<void>
}

/** Loads that one report completed; the next report adds them to the sums. */
interface OpenReport {
  readonly nowMs: number
  ms: number
  segments: number
  bytes: number
}

const savePeriodMs = 30_000

/** Creates the meter. It stores what it measured within 30 seconds, so that the next leader has it, even if this one crashes. */
export function createLoadMeter(database: Database, logger: Logger): LoadMeter {
  const sums = new Map<string, LoadSums>()
  const open = new Map<string, OpenReport>()
  const lastLoadAtMs = new Map<string, number>()
  const changed = new Set<string>()
  let saveTimer: NodeJS.Timeout | undefined

  const close = (server: string): void => {
    const report = open.get(server)
    if (report === undefined) return
    open.delete(server)
    if (report.ms === 0) return
    sums.set(server, addMeasured(sums.get(server) ?? noLoads, report))
    changed.add(server)
  }
  const scheduleSave = (): void => {
    saveTimer ??= setTimeout(() => void save(), savePeriodMs).unref()
  }
  const save = async (): Promise<void> => {
    clearTimeout(saveTimer)
    saveTimer = undefined
    for (const server of open.keys()) close(server)
    if (changed.size === 0) return
    const measured = new Map([...changed].map((server) => [server, sums.get(server) ?? noLoads]))
    changed.clear()
    await saveLoadRates(database, measured).catch((error) => {
      for (const server of measured.keys()) changed.add(server)
      scheduleSave()
      logger.warn('Failed to store load rates; retrying', { error: describeError(error) })
    })
  }

  return {
    note: ({ server, sizeBytes, sentAtMs, nowMs }) => {
      scheduleSave()
      // A server loads one segment after the other: a load lasts from the end of the last one, or from its request.
      const ms = nowMs - Math.max(sentAtMs, lastLoadAtMs.get(server) ?? -Infinity)
      if (open.get(server)?.nowMs !== nowMs) close(server)
      const report = open.get(server) ?? { nowMs, ms: 0, segments: 0, bytes: 0 }
      open.set(server, report)
      report.ms += Math.max(0, ms)
      report.segments += 1
      report.bytes += sizeBytes
      lastLoadAtMs.set(server, nowMs)
    },
    rateOf: (server) => {
      close(server)
      const known = sums.get(server)
      return known && rateOf(known)
    },
    sumsOf: (server) => {
      close(server)
      return sums.get(server)
    },
    restart: async () => {
      for (const [server, stored] of await loadLoadRates(database))
        if (!changed.has(server)) sums.set(server, stored)
    },
    save,
  }
}
