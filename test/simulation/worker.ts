// Simulates the seeds that the parent process sends, one after the other.
import './bootstrap.ts'
import type { SeedOrder, SeedOutcome } from './worker-protocol.ts'

const { planSimulation } = await import('./schedule.ts')
const { simulate } = await import('./run-simulation.ts')

// Creating stack traces takes a large part of the time of a simulation with many failures.
Error.stackTraceLimit = 0

process.on('message', async ({ seed, minutes }: SeedOrder) => {
  const before = process.cpuUsage()
  const { violations, fingerprint, steps, simulatedMs } = await simulate(planSimulation(seed, minutes))
  const { user, system } = process.cpuUsage(before)
  const outcome: SeedOutcome = {
    seed,
    violations,
    fingerprint,
    steps,
    simulatedMs,
    cpuMs: (user + system) / 1000,
  }
  process.send?.(outcome)
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
