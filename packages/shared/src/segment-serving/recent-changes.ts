// Number of changes kept for followers; a follower that is further behind gets the full list.
const keptChanges = 20_000

/** Numbered changes to the segments that a server serves. Only the last ones are kept. */
export class RecentChanges<Change> {
  private kept: Change[] = []
  private forgotten = 0
  private readonly waiting = new Set<() => void>()

  /** Number of changes so far. */
  get sequence(): number {
    return this.forgotten + this.kept.length
  }

  /** Adds a change, and wakes those who wait for the next one. Returns the earlier changes that are no longer kept. */
  add(change: Change): readonly Change[] {
    this.kept.push(change)
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const wake of waiting) wake()
    return this.kept.length > 2 * keptChanges ? this.forget(this.kept.length - keptChanges) : []
  }

  /** Returns the changes since a sequence number, or undefined if they are no longer known. */
  since(sequence: number): readonly Change[] | undefined {
    if (sequence < this.forgotten || sequence > this.sequence) return undefined
    return this.kept.slice(sequence - this.forgotten)
  }

  /** Forgets the oldest changes (default: all), and returns them. */
  forget(count = this.kept.length): readonly Change[] {
    this.forgotten += count
    return this.kept.splice(0, count)
  }

  /** Resolves at the next change. */
  next(): { readonly happened: Promise<void>; cancel(): void } {
    let wake: () => void = () => undefined
    const happened = new Promise<void>((resolve) => {
      wake = resolve
    })
    this.waiting.add(wake)
    return { happened, cancel: () => this.waiting.delete(wake) }
  }
}
