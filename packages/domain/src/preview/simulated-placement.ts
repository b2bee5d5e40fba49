import type { PreviewTier } from './servers-by-tier.ts'

/**
 * Tracks the free space of the servers in one tier while replicas are placed one after the other, each on the server
 * with the most free space. A replica that fits on no server is skipped. A heap in columns, because a preview may place
 * millions of replicas.
 */
export class TierRoom {
  /** Free bytes by place in the heap. The first server has the most space, or the first name of equals. */
  private readonly free: Float64Array
  /** The number of each server in the order of names. */
  private readonly numbers: Int32Array
  private size = 0
  private readonly takenFree: number[] = []
  private readonly takenNumbers: number[] = []

  constructor({ able }: PreviewTier) {
    this.free = new Float64Array(able.length)
    this.numbers = new Int32Array(able.length)
    const byName = able.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    for (const [number, { maxSizeBytes }] of byName.entries()) this.push(maxSizeBytes, number)
  }

  /** Places replicas of one segment on different servers. Returns the number of placed replicas. */
  take(copies: number, sizeBytes: number): number {
    const { free, numbers, takenFree, takenNumbers } = this
    let taken = 0
    // The first server has the most space. If the segment does not fit there, it fits nowhere.
    while (taken < copies && this.size > 0 && free[0]! >= sizeBytes) {
      takenFree[taken] = free[0]! - sizeBytes
      takenNumbers[taken] = numbers[0]!
      taken += 1
      if (taken === copies) {
        this.placeFirst(takenFree[taken - 1]!, takenNumbers[taken - 1]!)
        for (let at = 0; at < taken - 1; at += 1) this.push(takenFree[at]!, takenNumbers[at]!)
        return taken
      }
      this.size -= 1
      this.placeFirst(free[this.size]!, numbers[this.size]!)
    }
    for (let at = 0; at < taken; at += 1) this.push(takenFree[at]!, takenNumbers[at]!)
    return taken
  }

  private push(freeBytes: number, number: number): void {
    this.size += 1
    this.moveUp(this.size - 1, freeBytes, number)
  }

  /** Replaces the first server, and restores the order. */
  private placeFirst(freeBytes: number, number: number): void {
    const { free, numbers, size } = this
    let at = 0
    // A server that got a replica usually belongs near the end, so look for its place from there.
    for (let child = 1; child < size; child = 2 * at + 1) {
      const next = child + 1
      if (next < size && comesFirst(free[next]!, numbers[next]!, free[child]!, numbers[child]!)) child = next
      free[at] = free[child]!
      numbers[at] = numbers[child]!
      at = child
    }
    this.moveUp(at, freeBytes, number)
  }

  private moveUp(from: number, freeBytes: number, number: number): void {
    const { free, numbers } = this
    let at = from
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (!comesFirst(freeBytes, number, free[parent]!, numbers[parent]!)) break
      free[at] = free[parent]!
      numbers[at] = numbers[parent]!
      at = parent
    }
    free[at] = freeBytes
    numbers[at] = number
  }
}

/** Returns whether the first server gets a replica before the second. */
const comesFirst = (free: number, number: number, otherFree: number, otherNumber: number): boolean =>
  free > otherFree || (free === otherFree && number < otherNumber)

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
