import type { QueryClient } from '@tanstack/react-query'

/**
 * Refetches what has changed. If it changes again during a refetch, the refetch is not canceled, but followed by another
 * one. Otherwise, frequent changes could postpone the result forever, and the web worker would update the inventory once
 * for each of them.
 */
export class Refetcher {
  private readonly queries: Pick<QueryClient, 'invalidateQueries' | 'isFetching'>
  /** Keys that are being refetched, and whether that must be repeated. */
  private readonly refetching = new Map<string, boolean>()

  constructor(queries: Refetcher['queries']) {
    this.queries = queries
  }

  /** Refetches the queries whose keys start with the given parts. */
  refetch(...queryKey: string[]): void {
    const text = JSON.stringify(queryKey)
    const isRunning = this.refetching.has(text)
    this.refetching.set(text, true)
    if (!isRunning) void this.run(text, queryKey)
  }

  private async run(text: string, queryKey: string[]): Promise<void> {
    while (this.refetching.get(text) === true) {
      // A fetch that is already in progress may have begun before the change.
      this.refetching.set(text, this.queries.isFetching({ queryKey }) > 0)
      await this.queries.invalidateQueries({ queryKey }, { cancelRefetch: false })
    }
    this.refetching.delete(text)
  }
}
