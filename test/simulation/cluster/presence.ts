/** When servers announced themselves in the metadata store, which is how others know that they are there. */
export class Presence {
  private readonly byInstance = new Map<string, { readonly sinceMs: number; readonly lastMs: number }>()
  private readonly goneAt = new Map<string, number>()
  private readonly maxPauseMs: number
  private readonly now: () => number

  /** A server is gone for others if it does not announce itself for `maxPauseMs`. */
  constructor(maxPauseMs: number, now: () => number) {
    this.maxPauseMs = maxPauseMs
    this.now = now
  }

  noteAnnounced(instance: string): void {
    const nowMs = this.now()
    const isGone = this.isGone(instance)
    if (isGone) this.goneAt.set(instance, nowMs)
    const sinceMs = isGone ? nowMs : (this.byInstance.get(instance)?.sinceMs ?? nowMs)
    this.byInstance.set(instance, { sinceMs, lastMs: nowMs })
  }

  /** Whether a server has announced itself since this time, without a pause. */
  isSince(instance: string, sinceMs: number): boolean {
    const known = this.byInstance.get(instance)
    return known !== undefined && known.sinceMs <= sinceMs && !this.isGone(instance)
  }

  /** Whether others may have considered a server gone in the last `ms`. */
  wasGone(instance: string, ms: number): boolean {
    return this.isGone(instance) || this.now() - (this.goneAt.get(instance) ?? Number.NEGATIVE_INFINITY) < ms
  }

  private isGone(instance: string): boolean {
    const known = this.byInstance.get(instance)
    return known !== undefined && this.now() - known.lastMs > this.maxPauseMs
  }
}
