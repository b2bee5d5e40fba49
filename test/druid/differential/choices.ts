import type { SeededRandom } from '../../support/random.ts'

/** Random choices, the same for the same seed. */
export interface Choices {
  /** Returns true with this probability. */
  chance(probability: number): boolean
  /** Returns a whole number from `min` to `max`. */
  whole(min: number, max: number): number
  one<Value>(values: readonly Value[]): Value
  /** Returns up to `max` different values, in the order of the list. */
  some<Value>(values: readonly Value[], max: number): Value[]
}

/** Returns random choices that use these random numbers. */
export function choicesFrom({ next }: SeededRandom): Choices {
  const whole = (min: number, max: number) => min + Math.floor(next() * (max - min + 1))
  return {
    chance: (probability) => next() < probability,
    whole,
    one: (values) => {
      if (values.length === 0) throw new Error('There is nothing to choose from')
      return values[whole(0, values.length - 1)] as (typeof values)[number]
    },
    some: (values, max) => {
      const wanted = new Set<number>()
      const count = whole(0, Math.min(max, values.length))
      while (wanted.size < count) wanted.add(whole(0, values.length - 1))
      return [...wanted].sort((left, right) => left - right).map((index) => values[index]!)
    },
  }
}
