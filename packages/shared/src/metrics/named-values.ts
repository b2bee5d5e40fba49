/** What all values of a label are called that are not told by name. */
export const otherValues = 'other'

/**
 * Which values of a label are told by name: at most so many, and each for as long as it is there. A series that were
 * named at one scrape and not at the next would look like a counter that began anew.
 */
export class NamedValues {
  private readonly most: number
  private readonly named = new Set<string>()

  constructor(most: number) {
    this.most = most
  }

  /** The name under which a value is told; one that comes while there is room is named from then on. */
  nameOf(value: string): string {
    if (this.named.has(value)) return value
    if (this.named.size >= this.most) return otherValues
    this.named.add(value)
    return value
  }

  /**
   * Gives up the names of values that are not there any more, and gives their room to the largest of those that are.
   * Returns the names that were given up.
   */
  settle(sizes: ReadonlyMap<string, number>): readonly string[] {
    const gone = [...this.named].filter((value) => !sizes.has(value))
    for (const value of gone) this.named.delete(value)
    const waiting = [...sizes].filter(([value]) => !this.named.has(value))
    waiting.sort(([left, leftSize], [right, rightSize]) => rightSize - leftSize || (left < right ? -1 : 1))
    for (const [value] of waiting.slice(0, this.most - this.named.size)) this.named.add(value)
    return gone
  }
}
