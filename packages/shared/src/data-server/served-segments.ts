import { randomUUID } from 'node:crypto'

/** One change of what a server serves. */
export interface ServedChange {
  readonly id: string
  readonly change: 'loaded' | 'dropped'
}

/** The changes after a point, and the point after them. */
export interface ChangesSince {
  readonly changes: readonly ServedChange[]
  readonly next: number
}

// Changes that are kept for followers; one that is further behind gets the whole list.
const keptChanges = 20_000

/**
 * What this server serves, with its latest changes numbered, so that followers can keep up with deltas. A session
 * is one life of the process: numbers of another session mean nothing.
 */
export class ServedSegments {
  readonly session = randomUUID()
  private readonly served = new Set<string>()
  private changes: ServedChange[] = []
  private dropped = 0
  private readonly waiting = new Set<() => void>()

  /** The number of changes so far. */
  get sequence(): number {
    return this.dropped + this.changes.length
  }

  /** How many segments are served. */
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
    this.note({ id, change: 'loaded' })
  }

  remove(id: string): void {
    if (this.served.delete(id)) this.note({ id, change: 'dropped' })
  }

  /** The changes since a number of this session, or undefined where they are no longer known. */
  since(sequence: number): ChangesSince | undefined {
    if (sequence < this.dropped || sequence > this.sequence) return undefined
    return { changes: this.changes.slice(sequence - this.dropped), next: this.sequence }
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

  private note(change: ServedChange): void {
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
