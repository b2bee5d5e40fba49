import { grown } from './grow-column.ts'

const empty = -1
const deleted = -2

/** FNV-1a hash over the characters of a string, starting from `seed`. */
export function hashText(text: string, seed = 0x811c9dc5): number {
  let hash = seed
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

/** Mixes a number into a hash. */
export function hashNumber(value: number, seed: number): number {
  const low = value | 0
  const high = (value / 4_294_967_296) | 0
  const hash = Math.imul(seed ^ low ^ (low >>> 15), 0x85ebca6b)
  return Math.imul(hash ^ (hash >>> 13) ^ high, 0xc2b2ae35)
}

/**
 * Finds small integers by a hash of what they represent; the caller compares candidates. It uses two typed arrays,
 * because a Map of a million strings takes several times the memory and blocks the process while it grows.
 */
export class HashIndex {
  private slots = new Int32Array(1024).fill(empty)
  private hashes = new Int32Array(0)
  private taken = 0
  private live = 0

  /** Returns the number with this hash for which `matches` returns true, or -1. */
  find(hash: number, matches: (candidate: number) => boolean): number {
    const { slots, hashes } = this
    const mask = slots.length - 1
    for (let at = spread(hash) & mask; ; at = (at + 1) & mask) {
      const candidate = slots[at]!
      if (candidate === empty) return -1
      if (candidate !== deleted && hashes[candidate] === (hash | 0) && matches(candidate)) return candidate
    }
  }

  /** Adds a number that is not in the index yet. */
  add(hash: number, value: number): void {
    if (2 * (this.taken + 1) > this.slots.length) this.rebuild()
    this.hashes = grown(this.hashes, value + 1)
    this.hashes[value] = hash
    this.place(value)
    this.taken += 1
    this.live += 1
  }

  /** Removes a number that is in the index. */
  remove(value: number): void {
    const { slots } = this
    const mask = slots.length - 1
    let at = spread(this.hashes[value]!) & mask
    while (slots[at] !== value) at = (at + 1) & mask
    slots[at] = deleted
    this.live -= 1
  }

  private place(value: number): void {
    const { slots } = this
    const mask = slots.length - 1
    let at = spread(this.hashes[value]!) & mask
    while (slots[at] !== empty) at = (at + 1) & mask
    slots[at] = value
  }

  private rebuild(): void {
    const old = this.slots
    let length = 1024
    while (length < 4 * (this.live + 1)) length *= 2
    this.slots = new Int32Array(length).fill(empty)
    for (const value of old) if (value >= 0) this.place(value)
    this.taken = this.live
  }
}

/**
 * Spreads hashes, because the low bits of FNV hardly differ between strings that differ only in their last characters.
 */
const spread = (hash: number): number => {
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b)
  return mixed ^ (mixed >>> 15)
}
