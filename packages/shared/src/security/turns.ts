import { Failure } from '@svc/domain/failure'

/** Limits of work that takes turns. */
export interface TurnLimits {
  readonly atOnce: number
  readonly maxWaitingPerSource: number
  readonly maxWaiting: number
}

/** There is too much work, so the caller should try again later. */
class TooManyLogins extends Failure {
  constructor() {
    super('unavailable', 'Too many logins are being verified; try again')
  }
}

/** The place of waiting work was given to another source. */
export class LostTurn extends TooManyLogins {}

interface Waiting {
  readonly start: () => void
  readonly refuse: () => void
}

/**
 * Work of several sources that takes turns: one piece of each source, then the next of each. Beyond `maxWaiting`, a
 * source with fewer waiting pieces replaces the last one of the source with the most.
 */
export class Turns {
  private readonly limits: TurnLimits
  private readonly waitingOf = new Map<string, Set<Waiting>>()
  private waitingCount = 0
  private running = 0

  constructor(limits: TurnLimits) {
    this.limits = limits
  }

  /**
   * Does the work when it is the turn of its source. Throws unavailable immediately if too much work is waiting. The
   * result is `LostTurn` if another source needs the place, and the reason of the signal if it is aborted before the
   * turn.
   */
  run<Result>(source: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted()
    if (this.running >= this.limits.atOnce)
      return this.untilTurn(source, signal).then(() => this.runNow(work))
    this.running += 1
    return this.runNow(work)
  }

  private async runNow<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } finally {
      this.startNext()
    }
  }

  private startNext(): void {
    const [next] = this.waitingOf
    if (!next) {
      this.running -= 1
      return
    }
    const [source, own] = next
    // The source goes to the end of the round.
    this.waitingOf.delete(source)
    this.waitingOf.set(source, own)
    for (const entry of own) {
      this.remove(source, entry)
      entry.start()
      return
    }
  }

  private remove(source: string, entry: Waiting): void {
    const own = this.waitingOf.get(source)
    if (!own?.delete(entry)) return
    this.waitingCount -= 1
    if (own.size === 0) this.waitingOf.delete(source)
  }

  private untilTurn(source: string, signal: AbortSignal | undefined): Promise<void> {
    this.makePlace(source)
    return new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => {
        signal?.removeEventListener('abort', leave)
        this.remove(source, entry)
        settle()
      }
      const entry: Waiting = {
        start: () => end(resolve),
        refuse: () => end(() => reject(new LostTurn())),
      }
      const leave = () => end(() => reject(signal?.reason))
      signal?.addEventListener('abort', leave, { once: true })
      const own = this.waitingOf.get(source) ?? new Set()
      this.waitingOf.set(source, own.add(entry))
      this.waitingCount += 1
    })
  }

  private makePlace(source: string): void {
    const ownSize = this.waitingOf.get(source)?.size ?? 0
    if (ownSize >= this.limits.maxWaitingPerSource) throw new TooManyLogins()
    if (this.waitingCount < this.limits.maxWaiting) return
    let largest: ReadonlySet<Waiting> = new Set()
    for (const others of this.waitingOf.values()) if (others.size > largest.size) largest = others
    const last = [...largest].at(-1)
    if (!last || largest.size <= ownSize + 1) throw new TooManyLogins()
    last.refuse()
  }
}
