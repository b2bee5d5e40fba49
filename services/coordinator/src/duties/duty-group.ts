import { describeError } from '@svc/domain/failure'
import { type Logger, type Loop, startLoop } from '@svc/shared/runtime'

/** One thing that the leading coordinator does again and again; it answers what it did, for the log. */
export interface Duty {
  readonly name: string
  run(term: number): Promise<object | undefined>
}

/** How the runs of a group went, as the duties endpoint tells it. */
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

/** How the runs of one duty went since this server started; times in milliseconds. */
export interface DutyTimes {
  readonly duty: string
  readonly runs: number
  readonly failures: number
  readonly totalMs: number
  readonly lastMs: number
}

/** How one run of a duty went. */
export interface DutyRun {
  readonly duty: string
  readonly durationMs: number
  /** What it did; null where there was nothing to do, or where it failed. */
  readonly did: object | null
  readonly error: string | null
}

/** Duties that run one after the other, at a period of their own, while this server leads. */
export interface DutyGroup {
  readonly name: string
  /** Runs all duties now, after the run that may be under way, and tells what they did. */
  runNow(term: number): Promise<readonly DutyRun[]>
  start(term: number): void
  /** Runs as soon as possible, if this server leads. */
  wake(): void
  stop(): Promise<void>
  status(): DutyGroupStatus
  times(): readonly DutyTimes[]
}

/** A group of duties. One that fails is logged and counted; those after it run all the same. */
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

  // Runs are asked for by the period and by people; no two of them are under way at once.
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
        if (did) logger.info('Duty done', { duty: duty.name, ...did })
      } catch (error) {
        problem = describeError(error)
        failures[duty.name] = (failures[duty.name] ?? 0) + 1
        logger.error('Duty failed', {
          duty: duty.name,
          error: problem,
          // What is told to others leaves this out; whoever reads the log has to mend it.
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
      // The last run of an earlier term may not be over yet; it stops at its next duty.
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
