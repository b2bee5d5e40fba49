import { busy } from '@svc/domain/failure'

/** Limits of a shared budget. */
export interface BudgetLimits {
  readonly max: number
  readonly maxPerCaller: number
  /** Maximum number of waiting requests of one caller. */
  readonly maxWaitingPerCaller: number
  /** Maximum number of waiting requests of all callers. */
  readonly maxWaiting: number
  readonly maxWaitMs: number
}

/** Returns a share to the budget; further calls have no effect. */
export type Release = () => void

interface Waiting {
  readonly caller: string
  readonly amount: number
  readonly grant: () => void
}

/**
 * A limited resource that callers share, such as the memory for request bodies. A request for more than is left waits,
 * first come, first served, but never behind a caller that has used up its own limit.
 */
export class SharedBudget {
  private readonly limits: BudgetLimits
  private readonly usedBy = new Map<string, number>()
  private readonly waitingOf = new Map<string, number>()
  private readonly waiting: Set<Waiting> = new Set()
  private used = 0

  constructor(limits: BudgetLimits) {
    this.limits = limits
  }

  /**
   * Resolves once the amount is granted. Throws `busy` if too many requests are waiting, or if it takes too long. An
   * amount above the limit is granted when nothing else is in use.
   */
  async take(caller: string, amount: number): Promise<Release> {
    if (!this.fits(caller, amount) || this.isBehindOthers(caller)) await this.untilGranted(caller, amount)
    else this.use(caller, amount)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.use(caller, -amount)
      this.grantWaiting()
    }
  }

  private fits(caller: string, amount: number): boolean {
    const own = this.usedBy.get(caller) ?? 0
    return !this.isOverOwnPart(own, amount) && (this.used === 0 || this.used + amount <= this.limits.max)
  }

  private isOverOwnPart(own: number, amount: number): boolean {
    return own > 0 && own + amount > this.limits.maxPerCaller
  }

  private isBehindOthers(caller: string): boolean {
    return this.waitingOf.has(caller)
  }

  private use(caller: string, amount: number): void {
    this.used += amount
    change(this.usedBy, caller, amount)
  }

  private async untilGranted(caller: string, amount: number): Promise<void> {
    const { maxWaiting, maxWaitingPerCaller, maxWaitMs } = this.limits
    if (this.waiting.size >= maxWaiting || (this.waitingOf.get(caller) ?? 0) >= maxWaitingPerCaller)
      throw tooBusy()
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer)
        this.waiting.delete(entry)
        change(this.waitingOf, caller, -1)
        settle()
      }
      const entry: Waiting = { caller, amount, grant: () => end(resolve) }
      const timer = setTimeout(() => end(() => reject(tooBusy())), maxWaitMs)
      this.waiting.add(entry)
      change(this.waitingOf, caller, 1)
    })
  }

  private grantWaiting(): void {
    for (const entry of this.waiting) {
      const { caller, amount } = entry
      if (this.isOverOwnPart(this.usedBy.get(caller) ?? 0, amount)) continue
      // Small amounts must not overtake a large one forever.
      if (!this.fits(caller, amount)) return
      this.use(caller, amount)
      entry.grant()
    }
  }
}

const tooBusy = () =>
  busy('Too many large requests are in progress; retry in a few seconds with fewer concurrent requests')

function change(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
