import { Heap } from '../heap/index.ts'
import { addDrop, addLoad, hasRoom, roomOn, type ServerDraft } from './server-draft.ts'

/** Least full server first, then by queue length, then by name. */
function isBefore(a: ServerDraft, b: ServerDraft): boolean {
  if (a.fill !== b.fill) return a.fill < b.fill
  if (a.queuedLoads !== b.queuedLoads) return a.queuedLoads < b.queuedLoads
  return a.server.name < b.server.name
}

// Bytes by which a calculation with fill levels may be wrong, because they are rounded.
const roundingBytes = 16

/**
 * The servers of one tier that can take loads, as a heap with the least full server on top. A server with a full queue
 * leaves the heap permanently, because a run only adds loads.
 */
export class ServersByFill {
  private readonly all: readonly ServerDraft[]
  private readonly maxQueuedLoads: number
  private readonly heap = new Heap(isBefore)
  private readonly passedOver: ServerDraft[] = []
  private isStale = true
  private hasFreed = false
  private readonly largestMaxSizeBytes: number
  /** Segments of at least this size no longer fit on any server. */
  private fitsNowhereBytes = Infinity

  constructor(servers: readonly ServerDraft[], maxQueuedLoads: number) {
    this.all = servers
    this.maxQueuedLoads = maxQueuedLoads
    this.largestMaxSizeBytes = servers.reduce((max, { server }) => Math.max(max, server.maxSizeBytes), 0)
  }

  /** Whether this run drops replicas from servers of this tier. */
  get hasFreedSpace(): boolean {
    return this.hasFreed
  }

  /** Whether a server is skipped because its queue is full. */
  get someQueueFull(): boolean {
    return this.heap.size < this.all.length
  }

  /** Notes that this run drops a replica from a server: segments that follow may use its space. */
  free(draft: ServerDraft, sizeBytes: number): void {
    addDrop(draft, sizeBytes)
    this.hasFreed = true
    if (hasRoom(draft, this.fitsNowhereBytes)) this.fitsNowhereBytes = roomOn(draft) + 1
    if (!this.isStale) this.heap.moveUp(draft)
  }

  /** Call this after assigning loads to servers of this tier other than with `assign`. */
  noteGivenElsewhere(): void {
    this.isStale = true
  }

  /** Returns false if no server has room for a segment of this size, as far as known from earlier segments. */
  mayHaveRoom(sizeBytes: number): boolean {
    return sizeBytes < this.fitsNowhereBytes
  }

  /**
   * Assigns the segment, which has number `turn` in the run, to the least full server that has room and does not
   * already have it, and returns that server.
   */
  assign(sizeBytes: number, turn: number): ServerDraft | undefined {
    if (this.isStale) this.rebuild()
    if (!this.mayHaveRoom(sizeBytes)) return undefined
    const { passedOver } = this
    let fitsSomewhere = false
    let chosen: ServerDraft | undefined
    while (chosen === undefined) {
      const { first } = this.heap
      if (first === undefined || sizeBytes > this.maxRoomBelow(first)) break
      const draft = this.heap.pop()!
      const fits = hasRoom(draft, sizeBytes)
      if (fits) fitsSomewhere = true
      if (fits && draft.takenFor !== turn) chosen = draft
      else passedOver.push(draft)
    }
    if (chosen !== undefined) {
      addLoad(chosen, sizeBytes)
      this.push(chosen)
    } else if (!fitsSomewhere) {
      this.fitsNowhereBytes = sizeBytes
    }
    for (const draft of passedOver) this.push(draft)
    passedOver.length = 0
    return chosen
  }

  /** Returns at least the bytes that are free on a server that is as full as this one, or fuller. */
  private maxRoomBelow({ fill }: ServerDraft): number {
    // The last servers have no space at all, which is enough for an empty segment, even if servers before them are too full.
    return fill === Infinity ? 0 : Math.max(0, (1 - fill) * this.largestMaxSizeBytes + roundingBytes)
  }

  private rebuild(): void {
    this.heap.clear()
    for (const draft of this.all) this.push(draft)
    this.isStale = false
  }

  private push(draft: ServerDraft): void {
    if (draft.queuedLoads < this.maxQueuedLoads) this.heap.push(draft)
  }
}
