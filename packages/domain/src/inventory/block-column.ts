const blockBits = 14
const blockLength = 1 << blockBits

/**
 * A column of numbers that grows by blocks. Unlike a list, it never copies what it has, which would take tens of milliseconds
 * for a million numbers.
 */
export class BlockColumn {
  length = 0
  private readonly columnType: Int32ArrayConstructor | Float64ArrayConstructor
  private readonly blocks: (Int32Array | Float64Array)[] = []

  constructor(columnType: Int32ArrayConstructor | Float64ArrayConstructor = Int32Array) {
    this.columnType = columnType
  }

  push(value: number): void {
    const place = this.length & (blockLength - 1)
    if (place === 0) this.blocks.push(new this.columnType(blockLength))
    this.blocks[this.length >> blockBits]![place] = value
    this.length += 1
  }

  /** Returns the number at an index below the length. */
  at(index: number): number {
    return this.blocks[index >> blockBits]![index & (blockLength - 1)]!
  }
}
