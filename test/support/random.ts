import { randomInt } from 'node:crypto'

/** Pseudorandom numbers from 0 to 1, the same for the same seed. */
export interface SeededRandom {
  readonly seed: number
  next(): number
}

/**
 * Returns a random number generator with the seed in SVC_TEST_SEED, or with a new seed, which the test
 * prints.
 */
export function seededRandom(seed = Number(process.env.SVC_TEST_SEED ?? randomInt(2 ** 31))): SeededRandom {
  let state = seed >>> 0
  return {
    seed,
    // Mulberry32: small, and good enough to choose points in time.
    next: () => {
      state = (state + 0x6d2b79f5) >>> 0
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    },
  }
}
