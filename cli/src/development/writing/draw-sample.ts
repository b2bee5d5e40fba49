/**
 * Draws `count` of `items` at random, in their order; the same `seed` draws the same items. Returns all items if there
 * are not more than `count`.
 */
export function drawSample<Item>(items: readonly Item[], count: number, seed: number): readonly Item[] {
  const random = createRandom(seed)
  const order = items.map((_, index) => ({ index, key: random() }))
  const drawn = order.sort((a, b) => a.key - b.key || a.index - b.index).slice(0, count)
  return drawn.sort((a, b) => a.index - b.index).map(({ index }) => items[index] as Item)
}

/** Numbers from 0 up to 1 by the generator mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
