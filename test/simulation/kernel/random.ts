import { type SeededRandom, seededRandom } from '../../support/random.ts'
import { mix } from './scheduler.ts'

/** Random decisions. Each user has its own, so that a change to one of them does not change the decisions of others. */
export interface Random {
  /** Returns a number from 0 (inclusive) to 1. */
  next(): number
  /** Returns an integer from 0 to `max` - 1. */
  below(max: number): number
  between(min: number, max: number): number
  isTrue(probability: number): boolean
  pick<Item>(items: readonly Item[]): Item
}

/** Returns the random decisions of one user; the same for the same seed and name. */
export function randomOf(seed: number, name: string): Random {
  let hash = mix(seed)
  for (let index = 0; index < name.length; index++) hash = mix(hash ^ name.charCodeAt(index))
  return decisionsOf(seededRandom(hash))
}

function decisionsOf({ next }: SeededRandom): Random {
  const below = (max: number): number => Math.floor(next() * max)
  return {
    next,
    below,
    between: (min, max) => min + next() * (max - min),
    isTrue: (probability) => next() < probability,
    pick: (items) => items[below(items.length)]!,
  }
}
