import type { Failure } from '@svc/domain/failure'
import {
  type ActiveQuery as ActiveQueryTimes,
  type CallerQueries,
  joiningUse,
} from '@svc/domain/query-scheduling'

/** The owner of a query. */
export interface QueryOwner {
  /** Identifies the caller. Queries of one caller share the processes that the caller gets. */
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
  /** Returns the CPU time that the query has used; undefined if the system does not report it. */
  cpuMs(): number | undefined
  /** The query is expensive. From now on, it gets little CPU time while others need it. */
  yieldToOthers(): void
}

export type QueryState = 'waiting' | 'running' | 'suspended'

/** A query from its submission to its end. */
export interface ActiveQuery {
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

interface OwnQueries {
  readonly weight: number
  usedMs: number
  readonly queries: ActiveQuery[]
}

// CPU time after which a query gets a lower priority, when it runs alone and alongside other queries. Not run time: a
// short query that others slow down keeps its priority. The process serves no other query after that, so this is about
// as much as the start of a process takes.
const yieldAfterCpuMs = 2000
const yieldToOthersAfterCpuMs = 250

/** The active queries by caller, and the run time that they have used. */
export class ActiveQueries {
  private readonly callers = new Map<string, OwnQueries>()

  get isEmpty(): boolean {
    return this.callers.size === 0
  }

  all(): ActiveQuery[] {
    return [...this.callers.values()].flatMap(({ queries }) => queries)
  }

  find({ caller, id }: { readonly caller: string; readonly id: number }): ActiveQuery | undefined {
    return this.callers.get(caller)?.queries.find((query) => query.id === id)
  }

  add(query: ActiveQuery): void {
    const { caller, weight } = query.owner
    const own = this.callers.get(caller)
    if (own) own.queries.push(query)
    else {
      const usedMs = joiningUse(this.snapshot(), weight)
      this.callers.set(caller, { weight, usedMs, queries: [query] })
    }
  }

  remove(query: ActiveQuery): void {
    const { caller } = query.owner
    const own = this.callers.get(caller)
    const index = own?.queries.indexOf(query) ?? -1
    if (!own || index < 0) return
    own.queries.splice(index, 1)
    if (own.queries.length === 0) this.callers.delete(caller)
  }

  /** Returns what the decision about the next step depends on. */
  snapshot(): CallerQueries[] {
    return [...this.callers].map(([caller, { weight, usedMs, queries }]) => {
      const inState = (state: QueryState): ActiveQueryTimes[] =>
        queries
          .filter((query) => query.state === state)
          .map(({ id, runMs, turnMs, owner: { maxRunMs } }) => ({ id, runMs, turnMs, maxRunMs }))
      return {
        caller,
        weight,
        usedMs,
        waiting: inState('waiting').map(({ id }) => id),
        running: inState('running'),
        suspended: inState('suspended'),
      }
    })
  }

  /** Adds time to the queries that run. */
  passTime(passedMs: number): void {
    const maxCpuMs = this.all().length > 1 ? yieldToOthersAfterCpuMs : yieldAfterCpuMs
    for (const own of this.callers.values()) {
      for (const query of own.queries) {
        if (query.state !== 'running' || !query.listener) continue
        query.runMs += passedMs
        query.turnMs += passedMs
        own.usedMs += passedMs
        if (query.yields || (query.listener.cpuMs() ?? query.runMs) < maxCpuMs) continue
        query.yields = true
        query.listener.yieldToOthers()
      }
    }
  }
}
