import { grown, HashIndex, hashNumber, hashText } from '@svc/domain/inventory'

// The number of a partition at the end of an ID. Most segments share the text before it with others.
const partitionAtEnd = /^(.+)_([1-9]\d{0,8})$/s

/** Small integers that are used again once each `keep` had its `release`. */
class CountedNumbers {
  private usesOf = new Int32Array(0)
  private readonly free: number[] = []
  private limit = 0

  /** Returns a number that is not in use, as if it had been kept once. */
  next(): number {
    const number = this.free.pop() ?? this.limit++
    this.usesOf = grown(this.usesOf, number + 1)
    this.usesOf[number] = 1
    return number
  }

  keep(number: number): void {
    this.usesOf[number]! += 1
  }

  /** Returns whether the number is no longer in use. */
  release(number: number): boolean {
    this.usesOf[number]! -= 1
    if (this.usesOf[number]! > 0) return false
    this.free.push(number)
    return true
  }
}

/**
 * Numbers for the segments of virtual servers. Several lists contain each segment, and a million IDs are large, so lists contain
 * numbers. A list must keep the numbers that it contains: a number that nobody keeps becomes the number of another segment.
 */
export class SegmentNumbers {
  private readonly numbers = new CountedNumbers()
  private readonly byParts = new HashIndex()
  /** The number of the text at the start of each ID. */
  private textOf = new Int32Array(0)
  private partitionNumOf = new Int32Array(0)
  private sizes = new Float64Array(0)
  private readonly textNumbers = new CountedNumbers()
  private readonly byText = new HashIndex()
  private readonly texts: string[] = []

  /** Returns the number of a segment, which the caller keeps. The size of a segment that already has a number does not change. */
  take(id: string, sizeBytes: number): number {
    const { text, partitionNum } = partsOf(id)
    const known = this.findParts(this.findText(text), partitionNum)
    if (known >= 0) {
      this.keep(known)
      return known
    }
    const textNumber = this.takeText(text)
    const number = this.numbers.next()
    this.textOf = grown(this.textOf, number + 1)
    this.partitionNumOf = grown(this.partitionNumOf, number + 1)
    this.sizes = grown(this.sizes, number + 1)
    this.textOf[number] = textNumber
    this.partitionNumOf[number] = partitionNum
    this.sizes[number] = sizeBytes
    this.byParts.add(hashNumber(partitionNum, textNumber), number)
    return number
  }

  keep(number: number): void {
    this.numbers.keep(number)
  }

  release(number: number): void {
    if (!this.numbers.release(number)) return
    this.byParts.remove(number)
    const textNumber = this.textOf[number]!
    if (this.textNumbers.release(textNumber)) this.byText.remove(textNumber)
  }

  /** Returns the number of a segment, or -1 if it has none. */
  find(id: string): number {
    const { text, partitionNum } = partsOf(id)
    return this.findParts(this.findText(text), partitionNum)
  }

  idOf(number: number): string {
    const text = this.texts[this.textOf[number]!]!
    const partitionNum = this.partitionNumOf[number]!
    return partitionNum === 0 ? text : `${text}_${partitionNum}`
  }

  /** Returns the size of a segment in bytes. */
  sizeOf(number: number): number {
    return this.sizes[number]!
  }

  private findText(text: string): number {
    return this.byText.find(hashText(text), (candidate) => this.texts[candidate] === text)
  }

  private findParts(textNumber: number, partitionNum: number): number {
    return this.byParts.find(
      hashNumber(partitionNum, textNumber),
      (candidate) => this.textOf[candidate] === textNumber && this.partitionNumOf[candidate] === partitionNum,
    )
  }

  private takeText(text: string): number {
    const known = this.findText(text)
    if (known >= 0) {
      this.textNumbers.keep(known)
      return known
    }
    const number = this.textNumbers.next()
    this.texts[number] = text
    this.byText.add(hashText(text), number)
    return number
  }
}

function partsOf(id: string): { readonly text: string; readonly partitionNum: number } {
  const [, text = id, digits = '0'] = partitionAtEnd.exec(id) ?? []
  return { text, partitionNum: Number(digits) }
}
