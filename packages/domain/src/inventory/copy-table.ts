import { grown } from './grow-column.ts'

/** The state of a segment on a server, as bit flags. */
export const copyFlag = {
  /** The server serves the segment. */
  served: 1,
  /** A load is queued. */
  loading: 2,
  /** A drop is queued. */
  dropping: 4,
  /** The load failed; it is not retried for a while. */
  refused: 8,
  /** Set together with [loading]: the load moves a replica from another server. */
  moving: 16,
  /** Set together with [served]: the replica is being moved to another server. */
  leaving: 32,
  /** The server listed the segment to a coordinator that was not the leader. Counts for nothing until the server confirms it. */
  listed: 64,
} as const

/** The flags of a pending request. */
export const pendingFlags = copyFlag.loading | copyFlag.dropping

/**
 * Which servers hold, load, or drop each segment. Entries are in typed arrays, linked into one chain per row of the
 * segment table. Servers are identified by numbers that the caller assigns.
 */
export class CopyTable {
  /** Upper bound of the entry numbers used so far. */
  limit = 0
  /** The first entry in the chain of each row; -1 ends a chain. */
  firstOf = new Int32Array(0)
  nextOf = new Int32Array(0)
  rowOf = new Int32Array(0)
  /** -1 marks a free entry. */
  serverOf = new Int32Array(0)
  flagsOf = new Uint8Array(0)
  /** When the pending request was sent, in milliseconds of the caller's clock. */
  sentAtOf = new Float64Array(0)
  /** Number of entries with a pending request. */
  pendingCount = 0
  /** The entries with a pending request, in no particular order; the first `pendingCount` are in use. */
  private pendingEntries = new Int32Array(0)
  /** Where each pending entry is in `pendingEntries`. */
  private pendingAtOf = new Int32Array(0)
  private firstFree = -1

  /** Adds an empty chain for a row. */
  addRow(row: number): void {
    this.firstOf = grown(this.firstOf, row + 1)
    this.firstOf[row] = -1
  }

  /** Returns the entry of a server in the chain of a row, or -1. */
  find(row: number, server: number): number {
    const { nextOf, serverOf } = this
    let entry = this.firstOf[row]!
    while (entry >= 0 && serverOf[entry] !== server) entry = nextOf[entry]!
    return entry
  }

  /** Returns the flags of a server for a row; 0 if there is no entry. */
  flags(row: number, server: number): number {
    const entry = this.find(row, server)
    return entry < 0 ? 0 : this.flagsOf[entry]!
  }

  /** Sets and clears flags of a server for a row. Returns the entry, or -1 if no flags remain. */
  change(row: number, server: number, set: number, clear: number): number {
    let entry = this.find(row, server)
    const flags = ((entry < 0 ? 0 : this.flagsOf[entry]!) & ~clear) | set
    if (flags === 0) {
      if (entry >= 0) this.remove(row, entry)
      return -1
    }
    if (entry < 0) entry = this.add(row, server)
    this.setFlags(entry, flags)
    return entry
  }

  /** Calls `visit` with each entry that has a pending request, in no particular order. */
  forEachPending(visit: (entry: number) => void): void {
    for (let index = 0; index < this.pendingCount; index += 1) visit(this.pendingEntries[index]!)
  }

  private setFlags(entry: number, flags: number): void {
    const wasPending = (this.flagsOf[entry]! & pendingFlags) !== 0
    this.flagsOf[entry] = flags
    const isPending = (flags & pendingFlags) !== 0
    if (wasPending === isPending) return
    if (isPending) {
      this.pendingEntries = grown(this.pendingEntries, this.pendingCount + 1)
      this.pendingEntries[this.pendingCount] = entry
      this.pendingAtOf[entry] = this.pendingCount
      this.pendingCount += 1
      return
    }
    this.pendingCount -= 1
    const last = this.pendingEntries[this.pendingCount]!
    const place = this.pendingAtOf[entry]!
    this.pendingEntries[place] = last
    this.pendingAtOf[last] = place
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
      this.pendingAtOf = grown(this.pendingAtOf, this.limit)
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
    this.setFlags(entry, 0)
    this.serverOf[entry] = -1
    nextOf[entry] = this.firstFree
    this.firstFree = entry
  }
}
