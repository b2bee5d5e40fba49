import { busy } from '@svc/domain/failure'
import type { Caller } from '@svc/shared/security'

/** Limits the number of streams, in total and per caller. */
export class StreamLimit {
  private readonly max: number
  private readonly maxPerCaller: number
  private count = 0
  private readonly countOf = new Map<string, number>()

  constructor(max: number, maxPerCaller: number) {
    this.max = max
    this.maxPerCaller = maxPerCaller
  }

  /** Returns a function to call at the end of a stream. Throws busy if there are too many. */
  enter({ authenticator, identity }: Pick<Caller, 'authenticator' | 'identity'>): () => void {
    const key = JSON.stringify([authenticator, identity])
    const own = this.countOf.get(key) ?? 0
    if (own >= this.maxPerCaller)
      throw busy(`Too many open streams for user [${identity}]: expected at most [${this.maxPerCaller}]`)
    if (this.count >= this.max) throw busy(`Too many open streams: expected at most [${this.max}] in total`)
    this.count += 1
    this.countOf.set(key, own + 1)
    return () => {
      this.count -= 1
      const left = this.countOf.get(key)! - 1
      if (left === 0) this.countOf.delete(key)
      else this.countOf.set(key, left)
    }
  }
}
