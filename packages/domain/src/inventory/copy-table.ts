import { grown } from './grow-column.ts'

/** What a server has to do with a segment, as bits. */
export const copyFlag = {
  /** It serves the segment. */
  served: 1,
  /** It was told to load it. */
  loading: 2,
  /** It was told to drop it. */
  dropping: 4,
  /** It failed to load it, and is left alone with it for a while. */
  refused: 8,
  /** Beside loading: it is to take the place of a copy elsewhere. */
  moving: 16,
  /** Beside served: another server is to take its place. */
  leaving: 32,
} as const

/**
 * Which servers hold, load or drop each segment: chains of entries in typed arrays, one chain a row of the segment
 * table. Servers are numbers that their owner gives out.
 */
export class CopyTable {
  /** Entries below this number have been in use. */
  limit = 0
  /** The first entry of each row's chain; -1 ends a chain. */
  firstOf = new Int32Array(0)
  nextOf = new Int32Array(0)
  rowOf = new Int32Array(0)
  /** -1 marks an entry that is not in use. */
  serverOf = new Int32Array(0)
  flagsOf = new Uint8Array(0)
  /** When the request under way was sent, in milliseconds of whoever notes it. */
  sentAtOf = new Float64Array(0)
  private firstFree = -1

  /** Makes room for the chain of a row. */
  addRow(row: number): void {
    this.firstOf = grown(this.firstOf, row + 1)
    this.firstOf[row] = -1
  }

  /** The entry of a server in the chain of a row, or -1. */
  find(row: number, server: number): number {
    const { nextOf, serverOf } = this
    let entry = this.firstOf[row]!
    while (entry >= 0 && serverOf[entry] !== server) entry = nextOf[entry]!
    return entry
  }

  /** What a server has to do with a row; 0 for nothing. */
  flags(row: number, server: number): number {
    const entry = this.find(row, server)
    return entry < 0 ? 0 : this.flagsOf[entry]!
  }

  /** Sets and clears flags of a server at a row and returns the entry, or -1 where nothing is left of it. */
  change(row: number, server: number, set: number, clear: number): number {
    let entry = this.find(row, server)
    const flags = ((entry < 0 ? 0 : this.flagsOf[entry]!) & ~clear) | set
    if (flags === 0) {
      if (entry >= 0) this.remove(row, entry)
      return -1
    }
    if (entry < 0) entry = this.add(row, server)
    this.flagsOf[entry] = flags
    return entry
  }

  private add(row: number, server: number): number {
    let entry = this.firstFree
    if (entry >= 0) {
      this.firstFree = this.nextOf[entry]!
    } else {
      entry = this.limit
      this.limit += 1
      this.nextOf = grown(this.nextOf, this.limit)
      this.rowOf = grown(this.rowOf, this.limit)
      this.serverOf = grown(this.serverOf, this.limit)
      this.flagsOf = grown(this.flagsOf, this.limit)
      this.sentAtOf = grown(this.sentAtOf, this.limit)
    }
    this.nextOf[entry] = this.firstOf[row]!
    this.firstOf[row] = entry
    this.rowOf[entry] = row
    this.serverOf[entry] = server
    return entry
  }

  private remove(row: number, entry: number): void {
    const { firstOf, nextOf } = this
    if (firstOf[row] === entry) {
      firstOf[row] = nextOf[entry]!
    } else {
      let before = firstOf[row]!
      while (nextOf[before] !== entry) before = nextOf[before]!
      nextOf[before] = nextOf[entry]!
    }
    this.serverOf[entry] = -1
    nextOf[entry] = this.firstFree
    this.firstFree = entry
  }
}
