import type { Call } from '../http/index.ts'

/** The last calls of a server. */
export interface CallJournal {
  add(call: Call): void
  /** The last calls, newest first, at most `count`. */
  last(count: number): Call[]
}

/**
 * Creates a journal that keeps the last `capacity` calls of each direction. Received calls that failed authentication
 * are kept separately, so that unauthenticated callers cannot push out the calls of servers.
 */
export function createCallJournal(capacity: number): CallJournal {
  const rings: Record<Call['direction'] | 'refused', { calls: Call[]; next: number }> = {
    sent: { calls: [], next: 0 },
    received: { calls: [], next: 0 },
    refused: { calls: [], next: 0 },
  }
  return {
    add: (call) => {
      const isRefused = call.direction === 'received' && (call.status === 401 || call.status === 429)
      const ring = rings[isRefused ? 'refused' : call.direction]
      ring.calls[ring.next] = call
      ring.next = (ring.next + 1) % capacity
    },
    last: (count) =>
      Object.values(rings)
        .flatMap(({ calls, next }) => [...calls.slice(next), ...calls.slice(0, next)].reverse())
        .sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
        .slice(0, count),
  }
}
