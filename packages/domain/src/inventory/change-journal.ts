/** What can happen to a used segment: it is added or removed, a server starts or stops serving it, or its visibility changes. */
export const segmentChanges = [
  'added',
  'removed',
  'loaded',
  'dropped',
  'overshadowed',
  'visibleAgain',
] as const
export type SegmentChange = (typeof segmentChanges)[number]

/** The default number of changes that a journal remembers. */
const defaultCapacity = 262_144

/**
 * The last changes to the used segments of a table. Readers remember a position, and get the changes since then. Memory
 * is constant, so a reader that falls too far behind must read the entire table again.
 */
export class ChangeJournal {
  private readonly rows: Int32Array
  private readonly datasources: Int32Array
  private readonly kinds: Uint8Array
  private next = 0
  /** Changes before this position can no longer be read. */
  private first = 0

  constructor(capacity = defaultCapacity) {
    this.rows = new Int32Array(capacity)
    this.datasources = new Int32Array(capacity)
    this.kinds = new Uint8Array(capacity)
  }

  /** The position after the last change. */
  get position(): number {
    return this.next
  }

  /** Records a change to a segment, given by row. */
  note(change: SegmentChange, datasource: number, row: number): void {
    const at = this.next % this.rows.length
    this.rows[at] = row
    this.datasources[at] = datasource
    this.kinds[at] = segmentChanges.indexOf(change)
    this.next += 1
    this.first = Math.max(this.first, this.next - this.rows.length)
  }

  /** Whether the changes since a position are known. */
  isKnown(position: number): boolean {
    return position >= this.first && position <= this.next
  }

  /** Calls `visit` for each change from a known position to another one, or to the last change. */
  forEachSince(
    position: number,
    visit: (row: number, datasource: number, change: SegmentChange) => void,
    until = this.next,
  ): void {
    for (let index = position; index < until; index += 1) {
      const at = index % this.rows.length
      visit(this.rows[at]!, this.datasources[at]!, segmentChanges[this.kinds[at]!]!)
    }
  }
}
