/** The last entries of a journal. Adding one evicts the oldest. */
export class LastEntries<Entry> {
  private readonly capacity: number
  private entries: Entry[] = []
  private next = 0

  constructor(capacity: number) {
    this.capacity = capacity
  }

  add(entry: Entry): void {
    this.entries[this.next] = entry
    this.next = (this.next + 1) % this.capacity
  }

  clear(): void {
    this.entries = []
    this.next = 0
  }

  /** Returns the entries, newest first. */
  newestFirst(): Entry[] {
    return [...this.entries.slice(this.next), ...this.entries.slice(0, this.next)].reverse()
  }
}
