import { Heap } from '../heap/index.ts'
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
  private readonly rooms = new Heap(comesFirst)

  constructor(tier: PreviewTier) {
    for (const { name, maxSizeBytes } of tier.able) this.rooms.push({ free: maxSizeBytes, name })
  }

  /** Gives copies of one segment to different servers; returns how many found room. */
  take(copies: number, sizeBytes: number): number {
    const taken: Room[] = []
    while (taken.length < copies) {
      const room = this.rooms.first
      // The one with the most room comes first: where it has none, nobody has.
      if (room === undefined || room.free < sizeBytes) break
      this.rooms.pop()
      room.free -= sizeBytes
      taken.push(room)
    }
    for (const room of taken) this.rooms.push(room)
    return taken.length
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
