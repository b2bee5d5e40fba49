import type { Call } from '../http/index.ts'
import { LastEntries } from '../runtime/index.ts'

/** The last calls of a server. */
export interface CallJournal {
  add(call: Call): void
  /** The last calls, newest first, at most `count`. */
  last(count: number): Call[]
  clear(): void
}

/**
 * Creates a journal that keeps the last `capacity` calls of each direction. Received calls that failed authentication
 * are kept separately, so that unauthenticated callers cannot push out the calls of servers.
 */
export function createCallJournal(capacity: number): CallJournal {
  const kept: Record<Call['direction'] | 'refused', LastEntries<Call>> = {
    sent: new LastEntries(capacity),
    received: new LastEntries(capacity),
    refused: new LastEntries(capacity),
  }
  return {
    add: (call) => {
      const isRefused = call.direction === 'received' && (call.status === 401 || call.status === 429)
      kept[isRefused ? 'refused' : call.direction].add(call)
    },
    last: (count) =>
      Object.values(kept)
        .flatMap((calls) => calls.newestFirst())
        .sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
        .slice(0, count),
    clear: () => {
      for (const calls of Object.values(kept)) calls.clear()
    },
  }
}
