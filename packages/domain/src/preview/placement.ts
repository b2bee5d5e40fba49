import type { PreviewTier } from './cluster.ts'

/** A server with the bytes that are still free on it. */
interface Room {
  free: number
  readonly name: string
}

/** Whether the first server is to take a copy before the second. */
const comesFirst = (a: Room, b: Room): boolean => a.free > b.free || (a.free === b.free && a.name < b.name)

/**
 * The room of the servers of one tier while copies are given to them one after the other, each to the server with the
 * most room. A copy that fits on no server is left out.
 */
export class TierRoom {
  /** A heap: each server comes before those at twice its place. */
  private readonly heap: Room[]

  constructor(tier: PreviewTier) {
    this.heap = tier.able.map(({ name, maxSizeBytes }) => ({ free: maxSizeBytes, name }))
    this.heap.sort((a, b) => (comesFirst(a, b) ? -1 : 1))
  }

  /** Gives copies of one segment to different servers; returns how many found room. */
  take(copies: number, sizeBytes: number): number {
    const taken: Room[] = []
    while (taken.length < copies) {
      const room = this.heap[0]
      // The one with the most room comes first: where it has none, nobody has.
      if (room === undefined || room.free < sizeBytes) break
      this.removeFirst()
      room.free -= sizeBytes
      taken.push(room)
    }
    for (const room of taken) this.add(room)
    return taken.length
  }

  private removeFirst(): void {
    const { heap } = this
    const last = heap.pop()!
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && comesFirst(heap[child + 1]!, heap[child]!)) child += 1
      if (!comesFirst(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }

  private add(room: Room): void {
    const { heap } = this
    let at = heap.length
    heap.push(room)
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (!comesFirst(room, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = room
  }
}

/** What a tier is to hold in all. */
export interface TierDemand {
  /** Copies times their size. */
  bytes: number
  largestSegmentBytes: number
}

/**
 * Whether everything fits for certain, without looking at single copies: given to the emptiest servers first, copies
 * fill servers of one size evenly up to the size of the largest segment.
 */
export function certainlyFits({ able }: PreviewTier, { bytes, largestSegmentBytes }: TierDemand): boolean {
  if (bytes === 0) return true
  const smallest = able.reduce((least, { maxSizeBytes }) => Math.min(least, maxSizeBytes), Infinity)
  return smallest === Infinity || bytes / able.length + largestSegmentBytes <= smallest
}
