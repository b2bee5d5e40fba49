import type { ServerResponse } from 'node:http'
import { busy, unavailable } from '@svc/domain/failure'
import type { Exchange } from './sent-request.ts'

/** Max number of connections of the router to one server. */
export const maxConnections = 128

/** Limits of the connections to one server. */
export interface ShareLimits {
  readonly maxConnections: number
  /** Max number of waiting requests of one caller, and of all callers. */
  readonly maxWaitingPerCaller: number
  readonly maxWaiting: number
  readonly maxWaitMs: number
}

/** Makes a connection available to other requests; further calls have no effect. */
type Release = () => void

interface Waiting {
  readonly grant: () => void
}

/**
 * Divides the connections to one server among callers. A caller may use another connection only if it uses fewer than are
 * free, so one caller alone can use half of them, and some remain for callers that use none. Otherwise, one
 * caller with many slow requests would delay the requests of all others.
 */
export class ConnectionShares {
  private readonly limits: ShareLimits
  private readonly usedBy = new Map<string, number>()
  private readonly waitingOf = new Map<string, Set<Waiting>>()
  private used = 0
  private waitingCount = 0

  constructor(limits: ShareLimits) {
    this.limits = limits
  }

  /** Whether no request uses or waits for a connection. */
  get isUnused(): boolean {
    return this.used === 0 && this.waitingCount === 0
  }

  /**
   * Resolves when the caller may use a connection. Throws busy if too many requests are waiting, or if it takes too long,
   * and unavailable if the connection of `response` closes before.
   */
  async take(caller: string, response: ServerResponse): Promise<Release> {
    if (this.waitingOf.has(caller) || !this.fits(caller)) await this.untilGranted(caller, response)
    else this.use(caller, 1)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.use(caller, -1)
      this.grantWaiting()
    }
  }

  private fits(caller: string): boolean {
    return (this.usedBy.get(caller) ?? 0) < this.limits.maxConnections - this.used
  }

  private use(caller: string, by: number): void {
    this.used += by
    const own = (this.usedBy.get(caller) ?? 0) + by
    if (own === 0) this.usedBy.delete(caller)
    else this.usedBy.set(caller, own)
  }

  private async untilGranted(caller: string, response: ServerResponse): Promise<void> {
    const { maxWaitingPerCaller, maxWaiting, maxWaitMs } = this.limits
    const own = this.waitingOf.get(caller) ?? new Set()
    if (own.size >= maxWaitingPerCaller || this.waitingCount >= maxWaiting) throw tooBusy()
    this.waitingOf.set(caller, own)
    this.waitingCount += 1
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer)
        response.off('close', leave)
        own.delete(entry)
        if (own.size === 0) this.waitingOf.delete(caller)
        this.waitingCount -= 1
        settle()
      }
      const leave = () => end(() => reject(unavailable('The caller disconnected')))
      const entry: Waiting = { grant: () => end(resolve) }
      const timer = setTimeout(() => end(() => reject(tooBusy())), maxWaitMs)
      own.add(entry)
      response.once('close', leave)
    })
  }

  /** Grants connections to waiting callers in turn. */
  private grantWaiting(): void {
    for (const [caller, own] of this.waitingOf) {
      const [first] = own
      if (!first || !this.fits(caller)) continue
      this.use(caller, 1)
      // The caller goes to the end of the round, unless it has no more waiting requests.
      this.waitingOf.delete(caller)
      this.waitingOf.set(caller, own)
      first.grant()
    }
  }
}

const tooBusy = () =>
  busy('Too many requests are in progress; retry in a few seconds with fewer concurrent requests')

/** Waits until the caller of a request may use a connection to a server. Call the result when the response is complete. */
export type TakeConnection = (
  origin: string,
  { caller, response }: Pick<Exchange, 'caller' | 'response'>,
) => Promise<Release>

// A response may take minutes, so a waiting request is not refused before it had a chance.
const usualLimits: ShareLimits = {
  maxConnections,
  maxWaitingPerCaller: 500,
  maxWaiting: 2000,
  maxWaitMs: 60_000,
}

/** Divides the connections to each server among callers. */
export function createTakeConnection(): TakeConnection {
  const sharesOf = new Map<string, ConnectionShares>()
  return async (origin, { caller, response }) => {
    const shares = sharesOf.get(origin) ?? new ConnectionShares(usualLimits)
    sharesOf.set(origin, shares)
    try {
      const release = await shares.take(caller, response)
      return () => {
        release()
        if (shares.isUnused) sharesOf.delete(origin)
      }
    } catch (error) {
      if (shares.isUnused) sharesOf.delete(origin)
      throw error
    }
  }
}
