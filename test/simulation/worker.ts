// Simulates the plans that the parent process sends, one after the other.
import './bootstrap.ts'
import type { SeedOutcome, SimulationOrder } from './worker-protocol.ts'

const { simulate } = await import('./run-simulation.ts')
const { traceOf } = await import('./trace.ts')

// Creating stack traces takes a large part of the time of a simulation with many failures.
Error.stackTraceLimit = 0

process.on('message', async ({ plan, isTraced }: SimulationOrder) => {
  const before = process.cpuUsage()
  const result = await simulate(plan)
  const { user, system } = process.cpuUsage(before)
  const { violations, fingerprint, steps, simulatedMs, startedAtMs } = result
  const outcome: SeedOutcome = {
    seed: plan.seed,
    violations,
    fingerprint,
    steps,
    simulatedMs,
    workMs: simulatedMs - startedAtMs,
    cpuMs: (user + system) / 1000,
    trace: isTraced ? traceOf(plan, result) : [],
  }
  process.send?.(outcome)
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
