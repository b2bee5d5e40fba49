/** A binary heap: returns entries in order, even when others are pushed in between. Both take logarithmic time. */
export class Heap<Entry> {
  private readonly comesBefore: (a: Entry, b: Entry) => boolean
  private readonly entries: Entry[] = []

  /**
   * `comesBefore` must be a strict order. It is evaluated on each call, so do not change entries while they are in the
   * heap, unless you call `moveUp` afterward.
   */
  constructor(comesBefore: (a: Entry, b: Entry) => boolean) {
    this.comesBefore = comesBefore
  }

  get size(): number {
    return this.entries.length
  }

  /** The first entry, without removing it; undefined if the heap is empty. */
  get first(): Entry | undefined {
    return this.entries[0]
  }

  push(entry: Entry): void {
    this.put(entry, this.entries.length)
  }

  /** Restores the order after `entry` has changed so that it comes earlier. Takes linear time. Ignores unknown entries. */
  moveUp(entry: Entry): void {
    const at = this.entries.indexOf(entry)
    if (at >= 0) this.put(entry, at)
  }

  /** Puts an entry at a free position, or closer to the top. */
  private put(entry: Entry, free: number): void {
    const { entries } = this
    let at = free
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (!this.comesBefore(entry, entries[parent]!)) break
      entries[at] = entries[parent]!
      at = parent
    }
    entries[at] = entry
  }

  /** Removes and returns the first entry; undefined if the heap is empty. */
  pop(): Entry | undefined {
    const { entries } = this
    const first = entries[0]
    const last = entries.pop()
    if (last === undefined || entries.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= entries.length) break
      if (child + 1 < entries.length && this.comesBefore(entries[child + 1]!, entries[child]!)) child += 1
      if (!this.comesBefore(entries[child]!, last)) break
      entries[at] = entries[child]!
      at = child
    }
    entries[at] = last
    return first
  }

  clear(): void {
    this.entries.length = 0
  }
}
