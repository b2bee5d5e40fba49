/** One call among the servers, seen by one of its two sides. */
export interface Call {
  /** When it was answered, ISO 8601. */
  readonly time: string
  readonly direction: 'sent' | 'received'
  /** The role and name of the server that calls, as it says itself. */
  readonly from: string
  /** Sent: the URL of the server that is called. Received: the role and name of this server. */
  readonly to: string
  readonly method: string
  /** Without its query. */
  readonly path: string
  /** Whether the connection is encrypted. */
  readonly tls: boolean
  /** Sent: the user that the call was made as. Received: the user that it proved to be; empty for none. */
  readonly identity: string
  /** The subject of the other side's certificate; null where it showed none. */
  readonly certificate: string | null
  /** The status of the answer; null where none came. */
  readonly status: number | null
  /** Why no answer came. */
  readonly error: string | null
}

/** The last calls of a server. */
export interface CallJournal {
  add(call: Call): void
  /** The last calls, newest first, at most `count`. */
  last(count: number): Call[]
}

/**
 * A journal that keeps the last `capacity` calls of each direction; those of whoever proved to be nobody apart, so that
 * strangers drive no call of a server out.
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
