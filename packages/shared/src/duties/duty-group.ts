import { LastEntries, type Logger, type Loop, startLoop } from '../runtime/index.ts'
import {
  type Duty,
  type DutyRun,
  type DutyTimes,
  type RequestCounts,
  type WatchedDuty,
  watchDuty,
} from './run-duty.ts'

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

/** One run of the duties of a group. */
export interface GroupRun {
  /** 1 for the first run of this server. */
  readonly number: number
  /** ISO 8601. */
  readonly startedAt: string
  readonly durationMs: number
  readonly duties: readonly (DutyRun & { readonly requests?: RequestCounts })[]
}

/** How many of its last runs a group remembers, and how many that were not idle. */
export const rememberedRuns = 100

/** The last runs of a group. A run is idle if its duties had nothing to do. */
export interface RunHistory {
  readonly totalRuns: number
  /** The last runs, newest first. */
  readonly runs: readonly GroupRun[]
  /** The last runs that did something or failed, newest first, however many idle runs followed them. */
  readonly nonIdleRuns: readonly GroupRun[]
  /** The last failure of each duty that has failed, newest first. */
  readonly lastFailures: readonly DutyFailure[]
}

/** A failed run of a duty. */
export interface DutyFailure {
  readonly duty: string
  /** ISO 8601; when the run of the group started. */
  readonly startedAt: string
  readonly error: string
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
  /** Returns its last runs, at most `count` in each list. */
  history(count: number): RunHistory
  /** Returns the time until the next run of a period; half a period if none has begun yet. */
  untilNextRunMs(): number
  times(): readonly DutyTimes[]
}

/** Creates a group of duties. A failed duty is logged and counted, and the next duties still run. */
export function createDutyGroup(
  name: string,
  periodMs: number,
  duties: readonly Duty[],
  logger: Logger,
): DutyGroup {
  const watched = duties.map((duty) => watchDuty(duty, logger))
  const group = createGroupRuns(watched)
  let loop: Loop | undefined
  let stopped = Promise.resolve()
  let currentTerm: number | undefined
  let periodBeganAtMs: number | undefined

  const runNow = (term: number): Promise<readonly DutyRun[]> => group.run(term, () => currentTerm === term)
  const runOfPeriod = async (term: number): Promise<number> => {
    periodBeganAtMs = performance.now()
    await runNow(term)
    return Math.max(periodMs - group.lastRunMs(), 0)
  }
  return {
    name,
    runNow,
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
      stopped = (loop?.stop() ?? stopped).then(group.lastRunEnded)
      loop = undefined
      await stopped
    },
    times: () => watched.map((duty) => duty.times()),
    history: group.history,
    untilNextRunMs: () =>
      periodBeganAtMs === undefined
        ? periodMs / 2
        : Math.max(0, periodBeganAtMs + periodMs - performance.now()),
    status: () => ({
      name,
      period: `PT${periodMs / 1000}S`,
      dutyNames: duties.map((duty) => duty.name),
      ...group.statistics(),
      failures: Object.fromEntries(
        watched.map((duty) => [duty.name, duty.times().failures] as const).filter(([, count]) => count > 0),
      ),
    }),
  }
}

/** A run, with its times in milliseconds of the monotonic clock of this process. */
interface RememberedRun {
  readonly number: number
  readonly startedAt: string
  readonly startMs: number
  readonly endMs: number
  readonly done: readonly DutyRun[]
}

/** Returns a run, with what has become of its requests by now. */
function describeRun(
  { number, startedAt, startMs, endMs, done }: RememberedRun,
  duties: readonly WatchedDuty[],
): GroupRun {
  return {
    number,
    startedAt,
    durationMs: Math.round(endMs - startMs),
    duties: done.map((run) => {
      const requests = duties.find(({ name }) => name === run.duty)?.requestsOf?.(startMs, endMs)
      return { ...run, ...(requests === undefined ? {} : { requests }) }
    }),
  }
}

const isIdle = ({ duties }: GroupRun): boolean =>
  duties.every(({ did, error, requests }) => did === null && error === null && requests === undefined)

/** Remembers the last runs of duties. Idle runs do not push out others. */
class RunMemory {
  private readonly duties: readonly WatchedDuty[]
  private readonly all = new LastEntries<RememberedRun>(rememberedRuns)
  private readonly nonIdle = new LastEntries<RememberedRun>(rememberedRuns)
  private readonly failures = new Map<string, DutyFailure>()

  constructor(duties: readonly WatchedDuty[]) {
    this.duties = duties
  }

  add(run: RememberedRun): void {
    this.all.add(run)
    if (!isIdle(describeRun(run, this.duties))) this.nonIdle.add(run)
    for (const { duty, error } of run.done) {
      if (error === null) continue
      // The newest one comes last.
      this.failures.delete(duty)
      this.failures.set(duty, { duty, startedAt: run.startedAt, error })
    }
  }

  history(count: number): Omit<RunHistory, 'totalRuns'> {
    const describe = (entries: LastEntries<RememberedRun>): GroupRun[] =>
      entries
        .newestFirst()
        .slice(0, count)
        .map((run) => describeRun(run, this.duties))
    return {
      runs: describe(this.all),
      nonIdleRuns: describe(this.nonIdle),
      lastFailures: [...this.failures.values()].reverse(),
    }
  }
}

/** Runs all duties of a group. Both the period and users start runs, but only one is in progress at a time. */
function createGroupRuns(duties: readonly WatchedDuty[]) {
  let lastRun: Promise<unknown> = Promise.resolve()
  let runs = 0
  let totalMs = 0
  let lastRunMs = 0
  let lastRunStart: Date | null = null
  let lastRunEnd: Date | null = null
  const memory = new RunMemory(duties)

  const runAll = async (term: number, mayContinue: () => boolean): Promise<DutyRun[]> => {
    const startedAt = performance.now()
    const done: DutyRun[] = []
    lastRunStart = new Date()
    for (const duty of duties) {
      if (!mayContinue()) break
      done.push(await duty.run(term))
    }
    const endMs = performance.now()
    lastRunMs = endMs - startedAt
    lastRunEnd = new Date()
    runs += 1
    memory.add({ number: runs, startedAt: lastRunStart.toISOString(), startMs: startedAt, endMs, done })
    totalMs += lastRunMs
    return done
  }
  return {
    run: (term: number, mayContinue: () => boolean): Promise<readonly DutyRun[]> => {
      const turn = lastRun.then(() => runAll(term, mayContinue))
      lastRun = turn.catch(() => undefined)
      return turn
    },
    lastRunMs: () => lastRunMs,
    history: (count: number): RunHistory => ({ totalRuns: runs, ...memory.history(count) }),
    lastRunEnded: async (): Promise<void> => {
      await lastRun
    },
    statistics: () => ({
      lastRunStart: lastRunStart?.toISOString() ?? null,
      lastRunEnd: lastRunEnd?.toISOString() ?? null,
      avgRuntimeMillis: runs === 0 ? 0 : Math.round(totalMs / runs),
      lastRunMillis: Math.round(lastRunMs),
      runs,
    }),
  }
}
