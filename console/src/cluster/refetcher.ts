import type { Query, QueryClient } from '@tanstack/react-query'
import { lacksPermission } from './refetching.ts'

/**
 * Refetches what has changed. If it changes again during a refetch, the refetch is not canceled, but followed by another
 * one. Otherwise, frequent changes could postpone the result forever, and the web worker would update the inventory once
 * for each of them.
 */
export class Refetcher {
  private readonly queries: Pick<QueryClient, 'getQueryCache' | 'invalidateQueries' | 'isFetching'>
  /** Keys that are being refetched, and whether that must be repeated. */
  private readonly refetching = new Map<string, boolean>()
  /** Keys that may not be refetched yet, and whether they changed in the meantime. */
  private readonly pauses = new Map<string, { isChanged: boolean }>()

  constructor(queries: Refetcher['queries']) {
    this.queries = queries
  }

  /**
   * Refetches the queries whose keys start with the given parts, except those that lacked a permission: their refusal is itself a new
   * audit entry, and so a change, and refetching them after each change would never end.
   */
  refetch(...queryKey: string[]): void {
    const text = JSON.stringify(queryKey)
    const isRunning = this.refetching.has(text)
    this.refetching.set(text, true)
    if (!isRunning) void this.run(text, queryKey)
  }

  /**
   * Refetches all queries, each kind on its own: what is quickly refetched does not wait for what is not. Permissions may have changed, so
   * requests that lacked one are repeated, too.
   */
  refetchEverything(): void {
    void this.queries.invalidateQueries({ predicate: ({ state: { error } }) => lacksPermission(error) })
    const queries = this.queries.getQueryCache().getAll()
    for (const kind of new Set(queries.map(({ queryKey }) => String(queryKey[0])))) this.refetch(kind)
  }

  /** Refetches queries that cost more: at once, but after that only once per pause. */
  refetchWithPause(pauseMs: number, ...queryKey: string[]): void {
    const text = JSON.stringify(queryKey)
    const pause = this.pauses.get(text)
    if (pause !== undefined) {
      pause.isChanged = true
      return
    }
    const next = { isChanged: false }
    this.pauses.set(text, next)
    setTimeout(() => {
      this.pauses.delete(text)
      if (next.isChanged) this.refetchWithPause(pauseMs, ...queryKey)
    }, pauseMs)
    this.refetch(...queryKey)
  }

  private async run(text: string, queryKey: string[]): Promise<void> {
    const isRepeatable = ({ state: { error } }: Query): boolean => !lacksPermission(error)
    while (this.refetching.get(text) === true) {
      // A fetch that is already in progress may have begun before the change. Nothing below waits for other fetches, such as those of a
      // screen that the user has left: with them, this loop would block the page.
      const awaited = { queryKey, type: 'active', predicate: isRepeatable } as const
      this.refetching.set(text, this.queries.isFetching(awaited) > 0)
      await this.queries.invalidateQueries({ queryKey, predicate: isRepeatable }, { cancelRefetch: false })
    }
    this.refetching.delete(text)
  }
}
