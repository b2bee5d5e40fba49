import { describeError } from '@svc/domain/failure'
import { lastTime } from '@svc/domain/time'
import {
  type AuditEntry,
  type ClusterTime,
  clusterClockChannel,
  type Database,
  loadClusterTime,
  moveClusterTime,
} from '../postgres/index.ts'
import { type Clock, createTroubleLog, type Logger, type Loop, startLoop } from '../runtime/index.ts'
import { type ClockChange, decideClockChange } from './clock-change.ts'

/** The clock of a cluster whose time is simulated, as this server follows it. */
export interface SimulatedClock extends Clock {
  /** How many times as fast as real time it goes. */
  rate(): number
  /** Reads the clock of the cluster again. */
  refresh(): Promise<void>
  /** Moves it for the whole cluster, never back. */
  move(change: ClockChange, audit: Omit<AuditEntry, 'type' | 'key' | 'payload'>): Promise<void>
  /** Begins to follow it: from then on it is that of the cluster. */
  start(): Promise<void>
  stop(): Promise<void>
}

// Changes are told at once; this is for those that were not heard, and for clocks of machines that drift apart.
const readPeriodMs = 1000

/** Follows the clock of the cluster. Until it is started it shows the time of this machine. */
export function createSimulatedClock(database: Database, logger: Logger): SimulatedClock {
  let known: (ClusterTime & { readonly readAtMs: number }) | undefined
  // What was shown once is never taken back, whatever the store says later.
  let shown = 0
  let loop: Loop | undefined
  const trouble = createTroubleLog(logger)

  const refresh = async (): Promise<void> => {
    const askedAtMs = performance.now()
    const read = await loadClusterTime(database)
    const answeredAtMs = performance.now()
    // An answer that was long under way says less than what is known already.
    if (known !== undefined && askedAtMs < known.readAtMs) return
    known = { ...read, readAtMs: (askedAtMs + answeredAtMs) / 2 }
  }
  return {
    now: () => {
      if (known === undefined) return Date.now()
      const time = known.time + known.rate * (performance.now() - known.readAtMs)
      shown = Math.max(shown, Math.min(Math.floor(time), lastTime))
      return shown
    },
    rate: () => known?.rate ?? 1,
    refresh,
    move: async (change, audit) => {
      await moveClusterTime(database, (current) => decideClockChange(change, current), audit)
      await refresh()
    },
    start: async () => {
      await refresh()
      loop = startLoop(readPeriodMs, refresh, (error) =>
        trouble.tell('The clock of the cluster cannot be read; it goes on as it was', {
          error: describeError(error),
        }),
      )
      await database.listen(clusterClockChannel, () => loop?.wake())
    },
    stop: async () => {
      await loop?.stop()
    },
  }
}
