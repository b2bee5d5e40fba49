import { busy, type Failure, timedOut } from '@svc/domain/failure'
import {
  isLong,
  nextStep,
  type QueueLimits,
  type RefusedQuery,
  refusedQuery,
  type SchedulingLimits,
  type SchedulingStep,
} from '@svc/domain/query-scheduling'
import {
  ActiveQueries,
  type ActiveQuery,
  type QueryOwner,
  type QueryState,
  type TurnListener,
} from './active-queries.ts'

/** The permission for one query to run. */
export interface QueryTurn {
  /** Aborted with a busy or timedOut Failure if the query must end. */
  readonly signal: AbortSignal
  /** Starts counting the run time of the query. */
  begin(listener: TurnListener): void
  end(): void
}

export type QueryLane = 'short' | 'long'

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

const tickMs = 50

/** Creates a scheduler. It counts time only while there are queries. */
export function createQueryScheduler(options: QuerySchedulerOptions): QueryScheduler {
  return new Scheduler(options)
}

class Scheduler implements QueryScheduler {
  private readonly options: QuerySchedulerOptions
  private readonly queries = new ActiveQueries()
  private lastId = 0
  private ticker: NodeJS.Timeout | undefined
  private lastTickAt = 0

  constructor(options: QuerySchedulerOptions) {
    this.options = options
  }

  async enter(owner: QueryOwner, signal: AbortSignal): Promise<QueryTurn> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const query: ActiveQuery = {
      id: ++this.lastId,
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
      this.remove(query)
      reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    this.startTicking()
    this.queries.add(query)
    this.advance()
    this.refuseOneOfTooMany(owner.caller)
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
    return this.turnOf(query)
  }

  count(state: QueryState, lane?: QueryLane): number {
    const isIn = (query: ActiveQuery): boolean =>
      lane === undefined || (isLong(query, this.options) ? 'long' : 'short') === lane
    return this.queries.all().filter((query) => query.state === state && isIn(query)).length
  }

  stop(): void {
    clearInterval(this.ticker)
  }

  private turnOf(query: ActiveQuery): QueryTurn {
    return {
      signal: query.ending.signal,
      begin: (listener) => {
        this.passTime()
        query.listener = listener
      },
      end: () => {
        this.passTime()
        this.remove(query)
        this.advance()
      },
    }
  }

  private apply(step: SchedulingStep): void {
    const query = this.queries.find(step)
    if (!query) return
    switch (step.kind) {
      case 'start':
        query.state = 'running'
        query.start()
        return
      case 'resume':
        query.state = 'running'
        query.turnMs = 0
        query.listener?.resume()
        return
      case 'suspend':
        query.state = 'suspended'
        query.listener?.suspend()
        if (step.resumed) this.apply({ kind: 'resume', ...step.resumed })
        return
      case 'reject':
        this.options.onReject?.('long')
        this.end(query, busy(overloaded(this.count('suspended'))))
        return
      case 'expire':
        this.end(query, timedOut(expired(query.owner, this.options)))
    }
  }

  /** Ends a query at once. Another query can take its place before its process has ended. */
  private end(query: ActiveQuery, failure: Failure): void {
    this.remove(query)
    query.ending.abort(failure)
  }

  private advance(): void {
    this.passTime()
    for (;;) {
      const step = nextStep({ callers: this.queries.snapshot(), limits: this.options })
      if (!step) return
      this.apply(step)
    }
  }

  private refuseOneOfTooMany(caller: string): void {
    const refused = refusedQuery(this.queries.snapshot(), caller, this.options)
    const query = refused && this.queries.find(refused)
    if (!refused || !query) return
    this.remove(query)
    this.options.onReject?.(refused.limit)
    query.refuse(busy(tooMany(refused, this.options)))
  }

  private remove(query: ActiveQuery): void {
    this.queries.remove(query)
    if (!this.queries.isEmpty) return
    clearInterval(this.ticker)
    this.ticker = undefined
  }

  private startTicking(): void {
    if (this.ticker) return
    this.lastTickAt = performance.now()
    this.ticker = setInterval(() => this.advance(), tickMs)
    this.ticker.unref()
  }

  private passTime(): void {
    const now = performance.now()
    this.queries.passTime(now - this.lastTickAt)
    this.lastTickAt = now
  }
}

const overloaded = (suspended: number): string =>
  `The query is long-running, and too many long-running queries [${suspended}] are already waiting for their turn; try again later`

function expired({ maxRunMs }: QueryOwner, { maxRunMsPerCaller }: SchedulingLimits): string {
  return maxRunMs === undefined
    ? `Your running queries have taken longer than [${maxRunMsPerCaller}] ms in total, the limit set by [svc.query.maxTimePerCaller]`
    : `The query took longer than [${maxRunMs}] ms, the limit for callers without read access to any datasource`
}

function tooMany({ limit }: RefusedQuery, { maxQueued, maxQueuedPerCaller }: QueueLimits): string {
  return limit === 'caller'
    ? `Too many of your queries are waiting (the limit set by [svc.query.maxQueuedPerCaller] is [${maxQueuedPerCaller}]); try again later`
    : `Too many queries are waiting (the limit set by [svc.query.maxQueued] is [${maxQueued}]), and no other caller has more waiting queries than you; try again later`
}
