/** The label value that all values without their own series share. */
export const otherValues = 'other'

/**
 * The values of a label with their own series. A value keeps its series as long as it exists: if a series disappeared
 * and came back, it would look like a counter reset.
 */
export class NamedValues {
  private readonly max: number
  private readonly named = new Set<string>()

  constructor(max: number) {
    this.max = max
  }

  /** Returns the label value of a value. A new value gets its own series if there is room. */
  nameOf(value: string): string {
    if (this.named.has(value)) return value
    if (this.named.size >= this.max) return otherValues
    this.named.add(value)
    return value
  }

  /**
   * Removes values that no longer exist, and gives their room to the largest existing ones. Returns the removed values.
   */
  settle(sizes: ReadonlyMap<string, number>): readonly string[] {
    const gone = [...this.named].filter((value) => !sizes.has(value))
    for (const value of gone) this.named.delete(value)
    const waiting = [...sizes].filter(([value]) => !this.named.has(value))
    waiting.sort(([left, leftSize], [right, rightSize]) => rightSize - leftSize || (left < right ? -1 : 1))
    for (const [value] of waiting.slice(0, this.max - this.named.size)) this.named.add(value)
    return gone
  }
}
