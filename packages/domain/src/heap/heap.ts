/** A binary heap: gives entries out in order, while others may be put in between; each takes logarithmic time. */
export class Heap<Entry> {
  private readonly comesBefore: (a: Entry, b: Entry) => boolean
  private readonly entries: Entry[] = []

  /** `comesBefore` must be a strict order; it is asked at the time, so entries may change only while they are out. */
  constructor(comesBefore: (a: Entry, b: Entry) => boolean) {
    this.comesBefore = comesBefore
  }

  get size(): number {
    return this.entries.length
  }

  /** The first entry, which stays; undefined when there is none. */
  get first(): Entry | undefined {
    return this.entries[0]
  }

  push(entry: Entry): void {
    const { entries } = this
    let at = entries.length
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (!this.comesBefore(entry, entries[parent]!)) break
      entries[at] = entries[parent]!
      at = parent
    }
    entries[at] = entry
  }

  /** Takes the first entry out; undefined when there is none. */
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
