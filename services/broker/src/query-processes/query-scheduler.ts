import { busy, type Failure, timedOut } from '@svc/domain/failure'
import {
  type ActiveQuery,
  type CallerQueries,
  isLong,
  joiningUse,
  nextStep,
  type QueueLimits,
  type RefusedQuery,
  refusedQuery,
  type SchedulingLimits,
  type SchedulingStep,
} from '@svc/domain/query-scheduling'

/** The owner of a query. */
export interface QueryOwner {
  /** Identifies the caller. Queries of one caller share its part of the processes. */
  readonly caller: string
  /** Share of the processes relative to other callers; at least 1. */
  readonly weight: number
  /** Max run time of the query in milliseconds; undefined if only the limits for all queries apply. */
  readonly maxRunMs?: number | undefined
}

/** Is notified when a query is suspended and resumed. */
export interface TurnListener {
  suspend(): void
  resume(): void
  /** The query has run for a few seconds. From now on, it may get less CPU time than others. */
  yieldToOthers(): void
}

/** The permission for one query to run. */
export interface QueryTurn {
  /** Aborted with a busy or timedOut Failure if the query must end. */
  readonly signal: AbortSignal
  /** Starts counting the run time of the query. */
  begin(listener: TurnListener): void
  end(): void
}

export type QueryLane = 'short' | 'long'
export type QueryState = 'waiting' | 'running' | 'suspended'

/** Decides when queries run. */
export interface QueryScheduler {
  /** Resolves when the query may run. Rejects with the signal's reason or a busy Failure. */
  enter(owner: QueryOwner, signal: AbortSignal): Promise<QueryTurn>
  /** Returns the number of queries in a state and lane. */
  count(state: QueryState, lane?: QueryLane): number
  stop(): void
}

/** The limit that rejected a query; 'long' is the limit of suspended queries. */
export type RejectionReason = RefusedQuery['limit'] | 'long'

export interface QuerySchedulerOptions extends QueueLimits, SchedulingLimits {
  onReject?(reason: RejectionReason): void
}

interface Entry {
  readonly id: number
  readonly owner: QueryOwner
  state: QueryState
  runMs: number
  turnMs: number
  /** Undefined until the process is ready. */
  listener: TurnListener | undefined
  yields: boolean
  /** Starts a waiting query. */
  readonly start: () => void
  readonly refuse: (failure: Failure) => void
  readonly ending: AbortController
}

interface CallerEntries {
  readonly weight: number
  usedMs: number
  readonly entries: Entry[]
}

const tickMs = 50
// Run time after which a query gets a lower priority.
const yieldAfterMs = 2000

/** Creates a scheduler. It counts time only while there are queries. */
export function createQueryScheduler(options: QuerySchedulerOptions): QueryScheduler {
  const callers = new Map<string, CallerEntries>()
  let lastId = 0
  let ticker: NodeJS.Timeout | undefined
  let lastTickAt = 0

  const all = (): Entry[] => [...callers.values()].flatMap(({ entries }) => entries)

  function snapshot(): CallerQueries[] {
    return [...callers].map(([caller, { weight, usedMs, entries }]) => {
      const active = (state: QueryState): ActiveQuery[] =>
        entries
          .filter((entry) => entry.state === state)
          .map(({ id, runMs, turnMs, owner: { maxRunMs } }) => ({ id, runMs, turnMs, maxRunMs }))
      return {
        caller,
        weight,
        usedMs,
        waiting: active('waiting').map(({ id }) => id),
        running: active('running'),
        suspended: active('suspended'),
      }
    })
  }

  const find = ({ caller, id }: { readonly caller: string; readonly id: number }): Entry | undefined =>
    callers.get(caller)?.entries.find((entry) => entry.id === id)

  function apply(step: SchedulingStep): void {
    const entry = find(step)
    if (!entry) return
    switch (step.kind) {
      case 'start':
        entry.state = 'running'
        entry.start()
        return
      case 'resume':
        entry.state = 'running'
        entry.turnMs = 0
        entry.listener?.resume()
        return
      case 'suspend':
        entry.state = 'suspended'
        entry.listener?.suspend()
        if (step.resumed) apply({ kind: 'resume', ...step.resumed })
        return
      case 'reject':
        options.onReject?.('long')
        end(entry, busy(overloaded(all().filter(({ state }) => state === 'suspended').length)))
        return
      case 'expire':
        end(entry, timedOut(expired(entry.owner, options)))
    }
  }

  /** Ends a query at once. Another query can take its place before its process has ended. */
  function end(entry: Entry, failure: Failure): void {
    remove(entry)
    entry.ending.abort(failure)
  }

  function remove(entry: Entry): void {
    const { caller } = entry.owner
    const own = callers.get(caller)
    const index = own?.entries.indexOf(entry) ?? -1
    if (!own || index < 0) return
    own.entries.splice(index, 1)
    if (own.entries.length === 0) callers.delete(caller)
    if (callers.size > 0) return
    clearInterval(ticker)
    ticker = undefined
  }

  function advance(): void {
    passTime()
    for (;;) {
      const step = nextStep({ callers: snapshot(), limits: options })
      if (!step) return
      apply(step)
    }
  }

  function passTime(): void {
    const now = performance.now()
    const passedMs = now - lastTickAt
    lastTickAt = now
    for (const own of callers.values()) {
      for (const entry of own.entries) {
        if (entry.state !== 'running' || !entry.listener) continue
        entry.runMs += passedMs
        entry.turnMs += passedMs
        own.usedMs += passedMs
        if (entry.runMs < yieldAfterMs || entry.yields) continue
        entry.yields = true
        entry.listener.yieldToOthers()
      }
    }
  }

  function join(owner: QueryOwner, entry: Entry): void {
    if (!ticker) {
      lastTickAt = performance.now()
      ticker = setInterval(advance, tickMs)
      ticker.unref()
    }
    const own = callers.get(owner.caller)
    if (own) own.entries.push(entry)
    else {
      const usedMs = joiningUse(snapshot(), owner.weight)
      callers.set(owner.caller, { weight: owner.weight, usedMs, entries: [entry] })
    }
  }

  function refuseOneOfTooMany(caller: string): void {
    const refused = refusedQuery(snapshot(), caller, options)
    const entry = refused && find(refused)
    if (!refused || !entry) return
    remove(entry)
    options.onReject?.(refused.limit)
    entry.refuse(busy(tooMany(refused, options)))
  }

  return {
    enter: async (owner, signal) => {
      signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const entry: Entry = {
        id: ++lastId,
        owner,
        state: 'waiting',
        runMs: 0,
        turnMs: 0,
        listener: undefined,
        yields: false,
        start: resolve,
        refuse: reject,
        ending: new AbortController(),
      }
      const leave = (): void => {
        remove(entry)
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      join(owner, entry)
      advance()
      refuseOneOfTooMany(owner.caller)
      try {
        await promise
      } finally {
        signal.removeEventListener('abort', leave)
      }
      return {
        signal: entry.ending.signal,
        begin: (listener) => {
          passTime()
          entry.listener = listener
        },
        end: () => {
          passTime()
          remove(entry)
          advance()
        },
      }
    },
    count: (state, lane) =>
      all().filter(
        (entry) =>
          entry.state === state &&
          (lane === undefined || (isLong(entry, options) ? 'long' : 'short') === lane),
      ).length,
    stop: () => clearInterval(ticker),
  }
}

const overloaded = (suspended: number): string =>
  `The query is long-running, and [${suspended}] long-running queries are already waiting for their turn; try again later`

function expired({ maxRunMs }: QueryOwner, { maxRunMsPerCaller }: SchedulingLimits): string {
  return maxRunMs === undefined
    ? `Your running queries took longer than [${maxRunMsPerCaller}] ms in total, the limit set by [svc.query.maxTimePerCaller]`
    : `The query took longer than [${maxRunMs}] ms, the limit for callers without read access to any datasource`
}

function tooMany({ limit }: RefusedQuery, { maxQueued, maxQueuedPerCaller }: QueueLimits): string {
  return limit === 'caller'
    ? `[${maxQueuedPerCaller}] of your queries are waiting, the limit set by [svc.query.maxQueuedPerCaller]; try again later`
    : `[${maxQueued}] queries are waiting, the limit set by [svc.query.maxQueued], and no other caller has more waiting queries; try again later`
}
