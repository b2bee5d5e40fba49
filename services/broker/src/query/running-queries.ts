import { cancelled, forbidden } from '@svc/domain/failure'
import type { Caller } from '@svc/shared/security'

/** A query under way, as what runs it sees it. */
export interface QueryUnderWay {
  /** Aborted with a cancelled failure when the query is cancelled. */
  readonly signal: AbortSignal
  /** Notes what the query reads: who may read all of it may cancel it. */
  readonly onRead: (dataSources: readonly string[]) => void
}

/** The queries under way in this server, by their ids, which callers choose: several may have the same. */
export interface RunningQueries {
  /** Notes a query; `end` forgets it. */
  begin(id: string, caller: Caller): QueryUnderWay & { end(): void }
  /**
   * Cancels the queries of an id that the caller may cancel, and tells how many there were. A forbidden failure where
   * there are some, and the caller may cancel none of them.
   */
  cancel(id: string, caller: Caller): number
}

interface RunningQuery {
  readonly identity: string
  readonly cancelling: AbortController
  /** Undefined until the query has been read. */
  dataSources: readonly string[] | undefined
}

/** Makes it; no query is under way. */
export function createRunningQueries(): RunningQueries {
  const byId = new Map<string, Set<RunningQuery>>()
  return {
    begin: (id, { identity }) => {
      const query: RunningQuery = { identity, cancelling: new AbortController(), dataSources: undefined }
      const queries = byId.get(id) ?? new Set()
      byId.set(id, queries.add(query))
      return {
        signal: query.cancelling.signal,
        onRead: (dataSources) => {
          query.dataSources = dataSources
        },
        end: () => {
          queries.delete(query)
          if (queries.size === 0 && byId.get(id) === queries) byId.delete(id)
        },
      }
    },
    cancel: (id, caller) => {
      // As long as nobody knows what a query reads, it is nobody's business but its own caller's.
      const known = [...(byId.get(id) ?? [])].filter(
        ({ identity, dataSources }) => dataSources !== undefined || identity === caller.identity,
      )
      const missing = known.map(({ dataSources = [] }) =>
        dataSources.find((name) => !caller.can('READ', 'DATASOURCE', name)),
      )
      const allowed = known.filter((_, index) => missing[index] === undefined)
      const [name] = missing
      if (allowed.length === 0 && name !== undefined)
        throw forbidden(`The permission [READ] on [DATASOURCE] [${name}] is missing`)
      for (const { cancelling } of allowed) cancelling.abort(cancelled(`Query [${id}] was cancelled`))
      return allowed.length
    },
  }
}

/** Does the work of a query while it can be cancelled by its id. */
export async function underWay<T>(
  queries: RunningQueries,
  id: string,
  caller: Caller,
  work: (query: QueryUnderWay) => Promise<T>,
): Promise<T> {
  const query = queries.begin(id, caller)
  try {
    return await work(query)
  } finally {
    query.end()
  }
}
