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
import { type Clock, createProblemLog, type Logger, type Loop, startLoop } from '../runtime/index.ts'
import { type ClockChange, decideClockChange } from './clock-change.ts'

/** The simulated cluster clock as followed by this server. */
export interface SimulatedClock extends Clock {
  /** Speed relative to real time (1 is real time). */
  rate(): number
  /** Reads the cluster clock again. */
  refresh(): Promise<void>
  /** Changes the clock for the entire cluster; never moves it back. */
  move(change: ClockChange, audit: Omit<AuditEntry, 'type' | 'key' | 'payload'>): Promise<void>
  /** Starts following the cluster clock. */
  start(): Promise<void>
  stop(): Promise<void>
}

// Changes arrive as notifications; polling covers missed notifications and clock drift between machines.
const readPeriodMs = 1000

/** Returns a clock that follows the cluster clock. Until it is started, it shows the time of this machine. */
export function createSimulatedClock(database: Database, logger: Logger): SimulatedClock {
  let known: (ClusterTime & { readonly readAtMs: number }) | undefined
  // Time never goes back on a server, whatever it reads later.
  let shown = 0
  let loop: Loop | undefined
  const problemLog = createProblemLog(logger)

  const refresh = async (): Promise<void> => {
    const requestedAtMs = performance.now()
    const read = await loadClusterTime(database)
    const answeredAtMs = performance.now()
    // A slow response is older than what is already known.
    if (known !== undefined && requestedAtMs < known.readAtMs) return
    known = { ...read, readAtMs: (requestedAtMs + answeredAtMs) / 2 }
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
        problemLog.report('Failed to read the simulated clock; continuing at the last known rate', {
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
