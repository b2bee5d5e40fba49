import { describeError } from '@svc/domain/failure'
import { type Logger, type Loop, startLoop } from '@svc/shared/runtime'

/** A periodic job of the leading coordinator. Each run returns what it did, for the log. */
export interface Duty {
  readonly name: string
  run(term: number): Promise<object | undefined>
}

/** Statistics about the runs of a group, as the duties endpoint shows them. */
export interface DutyGroupStatus {
  readonly name: string
  readonly period: string
  readonly dutyNames: readonly string[]
  readonly lastRunStart: string | null
  readonly lastRunEnd: string | null
  readonly avgRuntimeMillis: number
  readonly lastRunMillis: number
  readonly runs: number
  readonly failures: Readonly<Record<string, number>>
}

/** Statistics about the runs of one duty since this server started, in milliseconds. */
export interface DutyTimes {
  readonly duty: string
  readonly runs: number
  readonly failures: number
  readonly totalMs: number
  readonly lastMs: number
}

/** The result of one run of a duty. */
export interface DutyRun {
  readonly duty: string
  readonly durationMs: number
  /** What the run did; null if there was nothing to do or if it failed. */
  readonly did: object | null
  readonly error: string | null
}

/** Duties that run one after the other, once per period, while this server is the leader. */
export interface DutyGroup {
  readonly name: string
  /** Runs all duties, after any run in progress, and returns what they did. */
  runNow(term: number): Promise<readonly DutyRun[]>
  start(term: number): void
  /** Runs the duties as soon as possible if this server is the leader. */
  wake(): void
  stop(): Promise<void>
  status(): DutyGroupStatus
  times(): readonly DutyTimes[]
}

/** Creates a group of duties. A failed duty is logged and counted, and the next duties still run. */
export function createDutyGroup(
  name: string,
  periodMs: number,
  duties: readonly Duty[],
  logger: Logger,
): DutyGroup {
  const failures: Record<string, number> = {}
  const times: DutyTimes[] = duties.map(({ name }) => ({
    duty: name,
    runs: 0,
    failures: 0,
    totalMs: 0,
    lastMs: 0,
  }))
  let loop: Loop | undefined
  let stopped = Promise.resolve()
  let currentTerm: number | undefined
  let runs = 0
  let totalMs = 0
  let lastRunMs = 0
  let lastRunStart: Date | null = null
  let lastRunEnd: Date | null = null

  // Both the period and users start runs. Only one run is in progress at a time.
  let lastRun: Promise<unknown> = Promise.resolve()
  const runInTurn = <Result>(run: () => Promise<Result>): Promise<Result> => {
    const turn = lastRun.then(run)
    lastRun = turn.catch(() => undefined)
    return turn
  }

  const runAll = async (term: number): Promise<DutyRun[]> => {
    const startedAt = performance.now()
    const done: DutyRun[] = []
    lastRunStart = new Date()
    for (const [index, duty] of duties.entries()) {
      if (currentTerm !== term) break
      const dutyStartedAt = performance.now()
      let did: object | undefined
      let problem: string | null = null
      try {
        did = await duty.run(term)
        if (did) logger.info('Duty completed', { duty: duty.name, ...did })
      } catch (error) {
        problem = describeError(error)
        failures[duty.name] = (failures[duty.name] ?? 0) + 1
        logger.error('Duty failed', {
          duty: duty.name,
          error: problem,
          // The cause is only logged, for the operator who must fix the problem. Clients do not see it.
          ...(error instanceof Error && error.cause !== undefined
            ? { cause: describeError(error.cause) }
            : {}),
          failures: failures[duty.name],
        })
      }
      const lastMs = performance.now() - dutyStartedAt
      const { runs: before, totalMs: beforeMs } = times[index] as DutyTimes
      times[index] = {
        duty: duty.name,
        runs: before + 1,
        failures: failures[duty.name] ?? 0,
        totalMs: beforeMs + lastMs,
        lastMs,
      }
      done.push({ duty: duty.name, durationMs: Math.round(lastMs), did: did ?? null, error: problem })
    }
    lastRunMs = performance.now() - startedAt
    lastRunEnd = new Date()
    runs += 1
    totalMs += lastRunMs
    return done
  }
  const runOfPeriod = async (term: number): Promise<number> => {
    await runInTurn(() => runAll(term))
    return Math.max(periodMs - lastRunMs, 0)
  }
  return {
    name,
    runNow: (term) => runInTurn(() => runAll(term)),
    start: (term) => {
      currentTerm = term
      // The last run of an earlier term may still be in progress. It stops before its next duty.
      const before = stopped
      loop = startLoop(
        periodMs,
        () => before.then(() => runOfPeriod(term)),
        () => undefined,
      )
    },
    wake: () => loop?.wake(),
    stop: async () => {
      currentTerm = undefined
      stopped = (loop?.stop() ?? stopped).then(() => lastRun).then(() => undefined)
      loop = undefined
      await stopped
    },
    times: () => times,
    status: () => ({
      name,
      period: `PT${periodMs / 1000}S`,
      dutyNames: duties.map((duty) => duty.name),
      lastRunStart: lastRunStart?.toISOString() ?? null,
      lastRunEnd: lastRunEnd?.toISOString() ?? null,
      avgRuntimeMillis: runs === 0 ? 0 : Math.round(totalMs / runs),
      lastRunMillis: Math.round(lastRunMs),
      runs,
      failures: { ...failures },
    }),
  }
}
