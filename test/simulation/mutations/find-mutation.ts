import type { Mutation } from '../hooks.ts'
import { runSeeds } from '../run-seeds.ts'

/** How long to search for a seed that fails. */
export interface SearchLimits {
  readonly maxSeeds: number
  readonly minutes: number
  readonly processes: number
}

/** The seed that shows that something is wrong, and what it shows. */
export interface FoundMutation {
  readonly seed: number
  readonly violation: string
}

/** Simulates seeds with a change until one fails. Returns undefined if none does. Rejects if the changed product does not run. */
export async function findMutation(
  mutation: Mutation,
  { maxSeeds, minutes, processes }: SearchLimits,
): Promise<FoundMutation | undefined> {
  let found: FoundMutation | undefined
  let lastSeed = 0
  function* seeds(): Generator<number> {
    while (found === undefined && lastSeed < maxSeeds) {
      lastSeed += 1
      yield lastSeed
    }
  }
  await runSeeds(
    seeds(),
    minutes,
    processes,
    ({ seed, violations: [first] }) => {
      if (first !== undefined) found ??= { seed, violation: `${first.invariant}: ${first.what}` }
    },
    mutation,
  )
  return found
}
