import type { Mutation } from './hooks.ts'
import { planSimulation } from './schedule.ts'
import { startSimulationProcess } from './simulation-process.ts'
import type { SeedOutcome } from './worker-protocol.ts'

/**
 * Simulates seeds in several processes, and calls back with each outcome, in any order. Rejects if a process ends
 * unexpectedly. With a mutation, the processes run the product with this change.
 */
export async function runSeeds(
  seeds: Iterable<number>,
  minutes: number,
  processes: number,
  onOutcome: (outcome: SeedOutcome) => void,
  mutation?: Mutation,
): Promise<void> {
  const queue = seeds[Symbol.iterator]()
  const work = async (): Promise<void> => {
    const simulation = startSimulationProcess(mutation)
    try {
      for (let next = queue.next(); !next.done; next = queue.next())
        onOutcome(await simulation.run(planSimulation(next.value, minutes)))
    } finally {
      simulation.close()
    }
  }
  await Promise.all(Array.from({ length: processes }, work))
}
