import { cancelled, forbidden } from '@svc/domain/failure'
import { type Caller, permittedNames } from '@svc/shared/security'

/** A running query, as seen by the code that runs it. */
export interface QueryInProgress {
  /** Aborted with a `cancelled` failure when the query is canceled. */
  readonly signal: AbortSignal
  /** Records what the query reads. Users who may read all of it may cancel the query, and so may its caller. */
  readonly onRead: (dataSources: readonly string[]) => void
}

/** The running queries of this server by id. Callers choose the ids, so several queries may have the same id. */
export interface RunningQueries {
  /** Adds a query. `end` removes it. */
  begin(id: string, caller: Caller): QueryInProgress & { end(): void }
  /**
   * Cancels the queries with an id that the caller may cancel, and returns their number. Throws forbidden if there are
   * queries with the id, but the caller may not cancel any of them.
   */
  cancel(id: string, caller: Caller): Promise<number>
}

interface RunningQuery {
  readonly caller: Pick<Caller, 'identity' | 'authenticator'>
  readonly cancelling: AbortController
  /** Undefined until the query is parsed. */
  dataSources: readonly string[] | undefined
}

/** Creates an empty set of running queries. */
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
    cancel: async (id, caller) => {
      const found = [...(byId.get(id) ?? [])]
      const allowed: RunningQuery[] = []
      for (const query of found) if (await mayCancel(caller, query)) allowed.push(query)
      // Until a query is parsed, other users must not learn that it exists.
      const parsed = found.filter(({ dataSources }) => dataSources !== undefined)
      if (allowed.length === 0 && parsed.length > 0) throw forbidden(permissionToCancel(parsed))
      for (const { cancelling } of allowed) cancelling.abort(cancelled(`Query [${id}] was canceled`))
      return allowed.length
    },
  }
}

/** Says which permission the caller of none of these queries needs to cancel one of them. */
const permissionToCancel = (queries: readonly RunningQuery[]): string =>
  queries.some(({ dataSources = [] }) => dataSources.length > 0)
    ? "Canceling another user's query requires permission [READ] on every datasource that it reads"
    : "Canceling another user's query that reads no datasource requires permission [READ] on [STATE]"

/**
 * Returns whether a caller may cancel a query. If the query reads no datasource or is not parsed yet, only its own
 * caller and users who may read the state may cancel it.
 */
async function mayCancel(caller: Caller, { caller: own, dataSources = [] }: RunningQuery): Promise<boolean> {
  if (own.identity === caller.identity && own.authenticator === caller.authenticator) return true
  return dataSources.length === 0
    ? caller.can('READ', 'STATE', 'STATE')
    : (await permittedNames(caller, dataSources)).length === dataSources.length
}

/** Runs the work of a query, which can be canceled by its id in the meantime. */
export async function whileCancellable<T>(
  queries: RunningQueries,
  id: string,
  caller: Caller,
  work: (query: QueryInProgress) => Promise<T>,
): Promise<T> {
  const query = queries.begin(id, caller)
  try {
    return await work(query)
  } finally {
    query.end()
  }
}
