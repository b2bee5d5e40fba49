import { randomUUID } from 'node:crypto'
import { type ChangesSince, RecentChanges, type ServedList } from '@svc/shared/segment-serving'
import type { SegmentNumbers } from './segment-numbers.ts'

/** The segments that virtual servers serve, by number, with numbered recent changes like those of a real server. */
export class NumberedSegments implements ServedList {
  readonly session = randomUUID()
  private readonly numbers: SegmentNumbers
  private readonly served = new Set<number>()
  /** The number of a loaded segment, or the bitwise complement of the number of a dropped one. */
  private readonly changes = new RecentChanges<number>()

  constructor(numbers: SegmentNumbers) {
    this.numbers = numbers
  }

  /** Number of changes so far. */
  get sequence(): number {
    return this.changes.sequence
  }

  segments(): Iterable<number> {
    return this.served
  }

  ids(): readonly string[] {
    return Array.from(this.served, (segment) => this.numbers.idOf(segment))
  }

  has(segment: number): boolean {
    return this.served.has(segment)
  }

  add(segment: number): void {
    if (this.served.has(segment)) return
    this.served.add(segment)
    this.numbers.keep(segment)
    this.note(segment)
  }

  remove(segment: number): void {
    if (!this.served.delete(segment)) return
    this.note(~segment)
    this.numbers.release(segment)
  }

  /** Removes all segments and forgets all changes, so that their numbers can be used again. Only for lists that nobody needs. */
  clear(): void {
    for (const segment of this.served) this.numbers.release(segment)
    this.served.clear()
    this.release(this.changes.forget())
  }

  since(sequence: number): ChangesSince | undefined {
    const changes = this.changes.since(sequence)
    return (
      changes && {
        changes: changes.map((change) =>
          change >= 0
            ? { id: this.numbers.idOf(change), change: 'loaded' }
            : { id: this.numbers.idOf(~change), change: 'dropped' },
        ),
        next: this.sequence,
      }
    )
  }

  nextChange(): { readonly happened: Promise<void>; cancel(): void } {
    return this.changes.next()
  }

  private note(change: number): void {
    this.numbers.keep(segmentOf(change))
    this.release(this.changes.add(change))
  }

  private release(changes: readonly number[]): void {
    for (const change of changes) this.numbers.release(segmentOf(change))
  }
}

const segmentOf = (change: number): number => (change < 0 ? ~change : change)
