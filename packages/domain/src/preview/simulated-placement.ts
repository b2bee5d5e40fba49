import { Heap } from '../heap/index.ts'
import type { PreviewTier } from './servers-by-tier.ts'

/** A server and its free bytes. */
interface Room {
  free: number
  readonly name: string
}

/** Returns whether the first server gets a replica before the second. */
const comesFirst = (a: Room, b: Room): boolean => a.free > b.free || (a.free === b.free && a.name < b.name)

/**
 * Tracks the free space of the servers in one tier while replicas are placed one after the other, each on the server
 * with the most free space. A replica that fits on no server is skipped.
 */
export class TierRoom {
  private readonly rooms = new Heap(comesFirst)

  constructor(tier: PreviewTier) {
    for (const { name, maxSizeBytes } of tier.able) this.rooms.push({ free: maxSizeBytes, name })
  }

  /** Places replicas of one segment on different servers. Returns the number of placed replicas. */
  take(copies: number, sizeBytes: number): number {
    const taken: Room[] = []
    while (taken.length < copies) {
      const room = this.rooms.first
      // The first server has the most space. If the segment does not fit there, it fits nowhere.
      if (room === undefined || room.free < sizeBytes) break
      this.rooms.pop()
      room.free -= sizeBytes
      taken.push(room)
    }
    for (const room of taken) this.rooms.push(room)
    return taken.length
  }
}

/** Total demand of a tier. */
export interface TierDemand {
  /** Sum of the sizes of all replicas. */
  bytes: number
  largestSegmentBytes: number
}

/**
 * Returns whether all replicas certainly fit, without checking each of them. Because each replica goes to the emptiest
 * server, the usage of servers with the same size differs by at most the size of the largest segment.
 */
export function certainlyFits({ able }: PreviewTier, { bytes, largestSegmentBytes }: TierDemand): boolean {
  if (bytes === 0) return true
  const smallest = able.reduce((min, { maxSizeBytes }) => Math.min(min, maxSizeBytes), Infinity)
  return smallest === Infinity || bytes / able.length + largestSegmentBytes <= smallest
}
