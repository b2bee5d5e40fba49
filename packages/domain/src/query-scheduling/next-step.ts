/** A query that runs or is suspended. */
export interface ActiveQuery {
  readonly id: number
  /** Milliseconds that it has run, without the time that it waited or was suspended. */
  readonly runMs: number
  /** Milliseconds since it last started or resumed. */
  readonly turnMs: number
  /** Maximum for `runMs`; undefined if only the limits for all apply. */
  readonly maxRunMs: number | undefined
}

/** The queries of one caller. */
export interface CallerQueries {
  readonly caller: string
  /** Share of the processes relative to other callers; at least 1. */
  readonly weight: number
  /** Milliseconds that its queries have used processes since the caller arrived, see `joiningUse`. */
  readonly usedMs: number
  /** Ids in order of arrival. */
  readonly waiting: readonly number[]
  readonly running: readonly ActiveQuery[]
  readonly suspended: readonly ActiveQuery[]
}

/** Limits of running and suspended queries. */
export interface SchedulingLimits {
  /** Maximum number of queries that run at a time. */
  readonly maxRunning: number
  /** Maximum number of suspended queries. */
  readonly maxSuspended: number
  /** Maximum number of queries of one caller that run or are suspended: both use memory. */
  readonly maxActivePerCaller: number
  /** Maximum total run time, in milliseconds, of all running and suspended queries of one caller. */
  readonly maxRunMsPerCaller: number
  /** Milliseconds after which a query counts as long. */
  readonly shortMs: number
  /** Milliseconds that a long query runs before it can be suspended for a query of another caller. */
  readonly turnMs: number
}

/** What happens to one query next. */
export interface SchedulingStep {
  readonly kind: 'start' | 'resume' | 'suspend' | 'reject' | 'expire'
  readonly caller: string
  readonly id: number
  /** The suspended query that resumes in place of this one; undefined if a waiting query starts instead. */
  readonly resumed?: { readonly caller: string; readonly id: number }
}

/** All queries of a broker at one moment. */
export interface SchedulingSnapshot {
  /** Callers without queries are left out. */
  readonly callers: readonly CallerQueries[]
  readonly limits: SchedulingLimits
}

/** A caller with one of its queries. */
interface Candidate {
  readonly queries: CallerQueries
  readonly id: number
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

const count = (callers: readonly CallerQueries[], of: (queries: CallerQueries) => readonly unknown[]) =>
  sum(callers.map((queries) => of(queries).length))

/**
 * Returns how much of its share a caller has used. Every running query counts as at least a short query, so that
 * callers who arrive at the same time start their queries in turn.
 */
const usageOf = ({ usedMs, running, weight }: CallerQueries, { shortMs }: SchedulingLimits): number =>
  (usedMs + running.length * shortMs) / weight

/**
 * Returns the initial `usedMs` of a caller who sends a query but has no active ones: that of the caller who has used
 * the least of its share. Past use does not make the caller wait, and past idle time gives it no advantage.
 */
export function joiningUse(callers: readonly CallerQueries[], weight: number): number {
  if (callers.length === 0) return 0
  return Math.min(...callers.map((one) => one.usedMs / one.weight)) * weight
}

/** Whether a query has run longer than a short query. */
export const isLong = ({ runMs }: Pick<ActiveQuery, 'runMs'>, { shortMs }: SchedulingLimits): boolean =>
  runMs >= shortMs

/**
 * Returns the maximum number of long queries that run while others wait. The other processes are reserved for short queries, because
 * several of them usually arrive at the same time.
 */
export const maxLong = (maxRunning: number): number => Math.ceil(maxRunning / 2)

/**
 * Returns the next step toward fair use of the processes; undefined if there is nothing to do now. The caller who has
 * used the least of its share is next. Every query starts as a short one. Processes are never idle while a query that
 * may run is waiting. Half of the processes are reserved for short queries: long queries that use them make room for waiting queries.
 */
export function nextStep(snapshot: SchedulingSnapshot): SchedulingStep | undefined {
  return expiring(snapshot) ?? filling(snapshot) ?? makingRoom(snapshot)
}

/** Ends a query over its own limit, or the longest query of a caller over the limit per caller. */
function expiring({ callers, limits }: SchedulingSnapshot): SchedulingStep | undefined {
  for (const { caller, running, suspended } of callers) {
    const late = running.find(({ runMs, maxRunMs }) => maxRunMs !== undefined && runMs >= maxRunMs)
    if (late) return { kind: 'expire', caller, id: late.id }
    const active = [...running, ...suspended]
    if (sum(active.map(({ runMs }) => runMs)) < limits.maxRunMsPerCaller) continue
    const [longest] = active.sort((a, b) => b.runMs - a.runMs)
    if (longest) return { kind: 'expire', caller, id: longest.id }
  }
  return undefined
}

/** Gives a free process to the caller who has used the least of its share. */
function filling(snapshot: SchedulingSnapshot): SchedulingStep | undefined {
  const { callers, limits } = snapshot
  if (count(callers, ({ running }) => running) >= limits.maxRunning) return undefined
  const starting = firstWaiting(snapshot)
  const long = count(callers, ({ running }) => running.filter((query) => isLong(query, limits)))
  // The reserved processes are for long queries only while no other query waits.
  const mayResume = starting === undefined || long < maxLong(limits.maxRunning)
  const resuming = mayResume ? firstSuspended(snapshot) : undefined
  if (resuming && (!starting || usageOf(resuming.queries, limits) < usageOf(starting.queries, limits)))
    return { kind: 'resume', caller: resuming.queries.caller, id: resuming.id }
  return starting && { kind: 'start', caller: starting.queries.caller, id: starting.id }
}

/**
 * Returns the oldest waiting query of the caller who has used the least of its share, among those who may start another
 * one. `suspending` is the number of queries to suspend first.
 */
function firstWaiting({ callers, limits }: SchedulingSnapshot, suspending = 0): Candidate | undefined {
  const isFull = count(callers, ({ suspended }) => suspended) + suspending >= limits.maxSuspended
  const allowed = callers.filter(({ running, suspended }) => {
    if (running.length + suspended.length >= limits.maxActivePerCaller) return false
    // If no more queries can be suspended, callers with long queries wait until these are done.
    return !isFull || (suspended.length === 0 && !running.some((query) => isLong(query, limits)))
  })
  return minServed(allowed, limits, ({ waiting }) => waiting[0])
}

/** Returns the first suspended query of the caller who has used the least of its share. */
function firstSuspended({ callers, limits }: SchedulingSnapshot): Candidate | undefined {
  return minServed(callers, limits, ({ suspended }) => suspended[0]?.id)
}

function minServed(
  callers: readonly CallerQueries[],
  limits: SchedulingLimits,
  queryOf: (queries: CallerQueries) => number | undefined,
): Candidate | undefined {
  let best: Candidate | undefined
  for (const queries of callers) {
    const id = queryOf(queries)
    if (id === undefined) continue
    const difference = best ? usageOf(queries, limits) - usageOf(best.queries, limits) : -1
    // On a tie, the query that arrived first.
    if (difference < 0 || (difference === 0 && id < (best as Candidate).id)) best = { queries, id }
  }
  return best
}

/** Suspends or rejects a long query if too many are running and another query waits, or if its turn is over. */
function makingRoom(snapshot: SchedulingSnapshot): SchedulingStep | undefined {
  const { callers, limits } = snapshot
  if (limits.maxRunning === 1) return undefined
  const long = longRunning(snapshot)
  if (long.length === 0 || count(callers, ({ running }) => running) < limits.maxRunning) return undefined
  const [greediest] = long
  if (greediest && long.length > maxLong(limits.maxRunning) && firstWaiting(snapshot, 1)) {
    const isFull = count(callers, ({ suspended }) => suspended) >= limits.maxSuspended
    return { kind: isFull ? 'reject' : 'suspend', caller: greediest.queries.caller, id: greediest.query.id }
  }
  const resuming = firstSuspended(snapshot)
  const over = long.find(({ query }) => query.turnMs >= limits.turnMs)
  if (!resuming || !over || resuming.queries === over.queries) return undefined
  if (usageOf(resuming.queries, limits) >= usageOf(over.queries, limits)) return undefined
  return {
    kind: 'suspend',
    caller: over.queries.caller,
    id: over.query.id,
    resumed: { caller: resuming.queries.caller, id: resuming.id },
  }
}

/** Returns the running long queries: first those of the caller who has used the most of its share, newest first. */
function longRunning({ callers, limits }: SchedulingSnapshot) {
  return callers
    .flatMap((queries) =>
      queries.running.filter((query) => isLong(query, limits)).map((query) => ({ queries, query })),
    )
    .sort((a, b) => usageOf(b.queries, limits) - usageOf(a.queries, limits) || b.query.id - a.query.id)
}
