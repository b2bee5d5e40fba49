import { randomUUID } from 'node:crypto'
import { RecentChanges } from './recent-changes.ts'

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

/** The list of the segments that a server serves, for those who follow it. */
export type ServedList = Pick<ServedSegments, 'session' | 'sequence' | 'ids' | 'since' | 'nextChange'>

/**
 * The segments that this server serves, with numbered recent changes, so that followers can keep up with deltas. A
 * session is one lifetime of the process; numbers of another session are meaningless.
 */
export class ServedSegments {
  readonly session = randomUUID()
  private readonly served = new Set<string>()
  /** A loaded segment is kept as its ID, because almost all changes of a new server are loads. */
  private readonly changes = new RecentChanges<string | ServedChange>()

  /** Number of changes so far. */
  get sequence(): number {
    return this.changes.sequence
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
    this.changes.add(id)
  }

  remove(id: string): void {
    if (this.served.delete(id)) this.changes.add({ id, change: 'dropped' })
  }

  /** Returns the changes since a sequence number of this session, or undefined if they are no longer known. */
  since(sequence: number): ChangesSince | undefined {
    const changes = this.changes.since(sequence)
    return (
      changes && {
        changes: changes.map((change) =>
          typeof change === 'string' ? { id: change, change: 'loaded' } : change,
        ),
        next: this.sequence,
      }
    )
  }

  /** Resolves at the next change. */
  nextChange(): { readonly happened: Promise<void>; cancel(): void } {
    return this.changes.next()
  }
}
