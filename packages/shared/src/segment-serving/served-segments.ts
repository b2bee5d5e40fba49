import { randomUUID } from 'node:crypto'

/** One change to the segments that a server serves. */
export interface ServedChange {
  readonly id: string
  readonly change: 'loaded' | 'dropped'
}

/** Changes since a sequence number, and the number to continue from. */
export interface ChangesSince {
  readonly changes: readonly ServedChange[]
  readonly next: number
}

// Number of changes kept for followers; a follower that is further behind gets the full list.
const keptChanges = 20_000

/**
 * The segments that this server serves, with numbered recent changes, so that followers can keep up with deltas. A
 * session is one lifetime of the process; numbers of another session are meaningless.
 */
export class ServedSegments {
  readonly session = randomUUID()
  private readonly served = new Set<string>()
  /** A loaded segment is kept as its ID, because almost all changes of a new server are loads. */
  private changes: (string | ServedChange)[] = []
  private dropped = 0
  private readonly waiting = new Set<() => void>()

  /** Number of changes so far. */
  get sequence(): number {
    return this.dropped + this.changes.length
  }

  /** Number of served segments. */
  get size(): number {
    return this.served.size
  }

  ids(): readonly string[] {
    return [...this.served]
  }

  has(id: string): boolean {
    return this.served.has(id)
  }

  add(id: string): void {
    if (this.served.has(id)) return
    this.served.add(id)
    this.note(id)
  }

  remove(id: string): void {
    if (this.served.delete(id)) this.note({ id, change: 'dropped' })
  }

  /** Returns the changes since a sequence number of this session, or undefined if they are no longer known. */
  since(sequence: number): ChangesSince | undefined {
    if (sequence < this.dropped || sequence > this.sequence) return undefined
    const changes = this.changes
      .slice(sequence - this.dropped)
      .map((change): ServedChange => (typeof change === 'string' ? { id: change, change: 'loaded' } : change))
    return { changes, next: this.sequence }
  }

  /** Resolves at the next change. */
  nextChange(): { readonly happened: Promise<void>; cancel(): void } {
    let wake: () => void = () => undefined
    const happened = new Promise<void>((resolve) => {
      wake = resolve
    })
    this.waiting.add(wake)
    return { happened, cancel: () => this.waiting.delete(wake) }
  }

  private note(change: string | ServedChange): void {
    this.changes.push(change)
    if (this.changes.length > 2 * keptChanges) {
      this.dropped += this.changes.length - keptChanges
      this.changes = this.changes.slice(-keptChanges)
    }
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const wake of waiting) wake()
  }
}
