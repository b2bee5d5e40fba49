import type { CallerQueries } from './next-step.ts'

/** How many queries may wait. */
export interface QueueLimits {
  readonly maxQueued: number
  readonly maxQueuedPerCaller: number
}

/** A query to reject, and the limit that it exceeds. */
export interface RefusedQuery {
  readonly caller: string
  readonly id: number
  readonly limit: 'caller' | 'all'
}

/**
 * Returns the query to reject after a query of caller `joined` was queued; undefined if all can wait. If the queue is
 * full, that is the newest query of the caller with the most waiting queries relative to its weight.
 */
export function refusedQuery(
  callers: readonly CallerQueries[],
  joined: string,
  { maxQueued, maxQueuedPerCaller }: QueueLimits,
): RefusedQuery | undefined {
  const own = callers.find(({ caller }) => caller === joined)
  if (own === undefined) return undefined
  const newest = ({ caller, waiting }: CallerQueries, limit: RefusedQuery['limit']) => {
    const id = waiting.at(-1)
    return id === undefined ? undefined : { caller, id, limit }
  }
  if (own.waiting.length > maxQueuedPerCaller) return newest(own, 'caller')
  if (callers.reduce((total, { waiting }) => total + waiting.length, 0) <= maxQueued) return undefined
  const lengthOf = ({ waiting, weight }: CallerQueries): number => waiting.length / weight
  // On a tie, the caller who has just joined.
  return newest(
    callers.reduce((longest, one) => (lengthOf(one) > lengthOf(longest) ? one : longest), own),
    'all',
  )
}
