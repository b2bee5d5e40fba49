import { Heap } from '../heap/index.ts'
import { giveLoad, hasRoom, type ServerDraft } from './server-draft.ts'

/** Least loaded first; equally full ones take turns by the length of their queues, then go by name. */
function isBefore(a: ServerDraft, b: ServerDraft): boolean {
  if (a.fill !== b.fill) return a.fill < b.fill
  if (a.queuedLoads !== b.queuedLoads) return a.queuedLoads < b.queuedLoads
  return a.server.name < b.server.name
}

/**
 * The servers of one tier that can be given loads, as a heap with the least loaded one on top. One whose queue is full
 * leaves it for good, because a run only ever adds to a server.
 */
export class ServersByFill {
  private readonly all: readonly ServerDraft[]
  private readonly mostQueuedLoads: number
  private readonly heap = new Heap(isBefore)
  private readonly passedOver: ServerDraft[] = []
  private isStale = true
  /** Segments of this size and more fit nowhere any more. */
  private fitsNowhereBytes = Infinity

  constructor(servers: readonly ServerDraft[], mostQueuedLoads: number) {
    this.all = servers
    this.mostQueuedLoads = mostQueuedLoads
  }

  /** Whether a server is passed over because its queue is full. */
  get someQueueFull(): boolean {
    return this.heap.size < this.all.length
  }

  /** Must be called after servers of this tier were given loads by others than `assign`. */
  noteGivenElsewhere(): void {
    this.isStale = true
  }

  /**
   * Gives the segment, the `turn`th of the run, to the least loaded server that it is not taken for and that has
   * room, and returns that server.
   */
  assign(sizeBytes: number, turn: number): ServerDraft | undefined {
    if (this.isStale) this.rebuild()
    if (sizeBytes >= this.fitsNowhereBytes) return undefined
    const { passedOver } = this
    let fitsSomewhere = false
    let chosen: ServerDraft | undefined
    while (chosen === undefined) {
      const draft = this.heap.pop()
      if (draft === undefined) break
      const fits = hasRoom(draft, sizeBytes)
      if (fits) fitsSomewhere = true
      if (fits && draft.takenFor !== turn) chosen = draft
      else passedOver.push(draft)
    }
    if (chosen !== undefined) {
      giveLoad(chosen, sizeBytes)
      this.push(chosen)
    } else if (!fitsSomewhere) {
      this.fitsNowhereBytes = sizeBytes
    }
    for (const draft of passedOver) this.push(draft)
    passedOver.length = 0
    return chosen
  }

  private rebuild(): void {
    this.heap.clear()
    for (const draft of this.all) this.push(draft)
    this.isStale = false
  }

  private push(draft: ServerDraft): void {
    if (draft.queuedLoads < this.mostQueuedLoads) this.heap.push(draft)
  }
}
