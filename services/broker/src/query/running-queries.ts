import { cancelled, forbidden } from '@svc/domain/failure'
import type { Caller } from '@svc/shared/security'

/** A query under way, as what runs it sees it. */
export interface QueryUnderWay {
  /** Aborted with a cancelled failure when the query is cancelled. */
  readonly signal: AbortSignal
  /** Notes what the query reads: who may read all of it may cancel it, as may its own caller. */
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
  readonly caller: Pick<Caller, 'identity' | 'authenticator'>
  readonly cancelling: AbortController
  /** Undefined until the query has been read. */
  dataSources: readonly string[] | undefined
}

/** Makes it; no query is under way. */
export function createRunningQueries(): RunningQueries {
  const byId = new Map<string, Set<RunningQuery>>()
  return {
    begin: (id, { identity, authenticator }) => {
      const caller = { identity, authenticator }
      const query: RunningQuery = { caller, cancelling: new AbortController(), dataSources: undefined }
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
      const found = [...(byId.get(id) ?? [])]
      const allowed = found.filter((query) => mayCancel(caller, query))
      // As long as nobody knows what a query reads, others are not told that it is there.
      if (allowed.length === 0 && found.some(({ dataSources }) => dataSources !== undefined))
        throw forbidden('The permission [READ] on all datasources that the query reads is missing')
      for (const { cancelling } of allowed) cancelling.abort(cancelled(`Query [${id}] was cancelled`))
      return allowed.length
    },
  }
}

/** A query that reads no datasource, or is not read yet, is the business of its own caller and of who sees the state. */
function mayCancel(caller: Caller, { caller: own, dataSources = [] }: RunningQuery): boolean {
  if (own.identity === caller.identity && own.authenticator === caller.authenticator) return true
  return dataSources.length === 0
    ? caller.can('READ', 'STATE', 'STATE')
    : dataSources.every((name) => caller.can('READ', 'DATASOURCE', name))
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
