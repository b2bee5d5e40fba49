// Simulates seeds: the code of a complete cluster in one process, with faults, on simulated time, networks, and disks.
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { failWithUsage, readNumber, readSeeds } from '../support/seed-options.ts'
import { runSeeds } from './run-seeds.ts'
import { planSimulation, type SimulationPlan } from './schedule.ts'
import { cutPlan, shrinkPlan } from './shrink.ts'
import { startSimulationProcess } from './simulation-process.ts'
import type { SeedOutcome } from './worker-protocol.ts'

const usage = `Usage: npm run test:simulation -- [--seed N | --seeds FROM-TO] [--minutes M] [--processes N]
       npm run test:simulation -- --seed N --trace|--shrink

Options:
  --seed N         Simulate one seed (default: 1)
  --seeds FROM-TO  Simulate several seeds
  --minutes M      Simulated duration of work and faults per seed, in minutes (default: 10)
  --processes N    Number of processes (default: one per processor)
  --trace          Print what happened
  --shrink         Look for the shortest part of a seed that fails, and print what happened in it
`

function fail(message: string): never {
  return failWithUsage(usage, message)
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string' },
        seeds: { type: 'string' },
        minutes: { type: 'string', default: '10' },
        processes: { type: 'string', default: String(availableParallelism()) },
        trace: { type: 'boolean', default: false },
        shrink: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    return fail((error as Error).message)
  }
}

const progressPeriodMs = 30_000

const options = readOptions()
if (options.help) process.stdout.write(usage)
else await run()

async function run(): Promise<void> {
  const minutes = readNumber(fail, 'minutes', options.minutes, 1, 1000)
  const seeds = readSeeds(fail, options)
  if (options.trace || options.shrink) {
    if (seeds.length !== 1) fail('Options --trace and --shrink require one seed')
    return await printTrace(planSimulation(seeds[0]!, minutes), options.shrink)
  }
  const processes = Math.min(readNumber(fail, 'processes', options.processes, 1, 64), seeds.length)
  const summary = createSummary(seeds.length)
  await runSeeds(seeds, minutes, processes, (outcome) => {
    if (outcome.violations.length > 0) printViolations(outcome)
    summary.add(outcome)
  })
  summary.print()
  if (summary.failed() > 0) process.exitCode = 1
}

/** Simulates one plan, or the shortest part of it that fails, and prints what happened. */
async function printTrace(plan: SimulationPlan, isShrunk: boolean): Promise<void> {
  const simulation = startSimulationProcess()
  const shown = isShrunk ? await shortestFailing(plan) : plan
  const { trace, violations } = await simulation.run(shown, true)
  simulation.close()
  process.stdout.write(`${trace.join('\n')}\n${violations.length === 0 ? 'passed' : 'FAILED'}\n`)
  if (violations.length > 0) process.exitCode = 1

  async function shortestFailing(whole: SimulationPlan): Promise<SimulationPlan> {
    const { violations: first, workMs } = await simulation.run(whole)
    const invariants = new Set(first.map(({ invariant }) => invariant))
    const fails = async (part: SimulationPlan): Promise<boolean> =>
      (await simulation.run(part)).violations.some(({ invariant }) => invariants.has(invariant))
    if (invariants.size === 0) return whole
    const early = cutPlan(whole, workMs)
    return await shrinkPlan((await fails(early)) ? early : whole, fails)
  }
}

function printViolations({ seed, violations }: SeedOutcome): void {
  process.stdout.write(`FAILED  seed ${seed}\n`)
  for (const { invariant, what } of violations) process.stdout.write(`  ${invariant}: ${what}\n`)
}

/** Adds up outcomes, and prints the sums now and then. */
function createSummary(total: number) {
  let [done, failed, simulatedMs, cpuMs] = [0, 0, 0, 0]
  let printedAtMs = performance.now()
  const print = (): void => {
    const hours = simulatedMs / 3_600_000
    const speed = (cpuMs / 1000 / hours).toFixed(1)
    process.stdout.write(
      `${done - failed} passed, ${failed} failed of ${total}; ${hours.toFixed(1)} hours simulated, ${speed} s of CPU time per hour\n`,
    )
  }
  return {
    failed: () => failed,
    print,
    add: (outcome: SeedOutcome): void => {
      done += 1
      if (outcome.violations.length > 0) failed += 1
      simulatedMs += outcome.simulatedMs
      cpuMs += outcome.cpuMs
      if (done === total || performance.now() < printedAtMs + progressPeriodMs) return
      printedAtMs = performance.now()
      print()
    },
  }
}
