import { randomInt } from 'node:crypto'

/** Numbers from 0 to 1 that look random and are the same for the same seed. */
export interface SeededRandom {
  readonly seed: number
  next(): number
}

/** A source of numbers whose seed stands in SVC_TEST_SEED, or is a new one that the test prints. */
export function seededRandom(seed = Number(process.env.SVC_TEST_SEED ?? randomInt(2 ** 31))): SeededRandom {
  let state = seed >>> 0
  return {
    seed,
    // Mulberry32: small, and good enough to spread points over a time.
    next: () => {
      state = (state + 0x6d2b79f5) >>> 0
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    },
  }
}
