/** A request that a server failed, or a load that it did not answer. Times are in milliseconds of the clock of its reports. */
export interface FailedRequest {
  /** What the server reported; undefined if it did not answer. */
  readonly message: string | undefined
  /** How often it failed since it last succeeded. */
  readonly failures: number
  readonly atMs: number
  /** Until then, the leader does not request the segment again. */
  readonly retryAtMs: number
}

// How long the leader does not request a segment again that a server failed to load or drop. Doubles with every failure.
const firstRetryMs = 5000
const maxRetryMs = 300_000

/** The segments that a server recently failed to load or drop, by ID, and when the leader requests them again. */
export class FailedRequests implements Iterable<[id: string, request: FailedRequest]> {
  private readonly byId = new Map<string, FailedRequest>()

  get(id: string): FailedRequest | undefined {
    return this.byId.get(id)
  }

  get size(): number {
    return this.byId.size
  }

  [Symbol.iterator](): MapIterator<[id: string, request: FailedRequest]> {
    return this.byId[Symbol.iterator]()
  }

  addFailure(id: string, message: string, nowMs: number): void {
    const known = this.byId.get(id)
    const waitMs =
      known === undefined ? firstRetryMs : Math.min(2 * (known.retryAtMs - known.atMs), maxRetryMs)
    const failures = (known?.failures ?? 0) + 1
    this.byId.set(id, { message, failures, atMs: nowMs, retryAtMs: nowMs + waitMs })
  }

  /** Adds a request that the server did not answer. Other servers have time to answer it. */
  addUnanswered(id: string, nowMs: number): void {
    const failures = (this.byId.get(id)?.failures ?? 0) + 1
    this.byId.set(id, { message: undefined, failures, atMs: nowMs, retryAtMs: nowMs + maxRetryMs })
  }

  delete(id: string): void {
    // Most servers have none, and the hash of a new ID would have to be calculated.
    if (this.byId.size > 0) this.byId.delete(id)
  }

  /** Forgets requests that could have been retried long ago. */
  deleteOld(nowMs: number): void {
    for (const [id, { retryAtMs }] of this.byId) if (nowMs > retryAtMs + maxRetryMs) this.byId.delete(id)
  }
}
