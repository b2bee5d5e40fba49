import { startDruidSystem } from './druid-system.ts'
import {
  describe,
  hasPassed,
  kindOf,
  maxPercent,
  minRequestsForShares,
  type Report,
  summarize,
} from './report.ts'
import { minimize, runSeed, type SeedResult, type UnlistedDifference } from './run-seed.ts'
import { startSvc } from './svc-system.ts'

/** How much to run. */
export interface DifferentialOptions {
  readonly firstSeed: number
  readonly seeds: number
  /** Number of requests for each seed. */
  readonly requests: number
}

// More of them mean that a system no longer works.
const maxFailedSeeds = 3

/** Starts both systems, runs all seeds, and reports their differences. Always stops both. */
export async function runDifferential(
  { firstSeed, seeds, requests }: DifferentialOptions,
  print: (line: string) => void,
): Promise<Report> {
  const druid = await startDruidSystem()
  try {
    const svc = await startSvc()
    try {
      const results: SeedResult[] = []
      const failedSeeds: number[] = []
      const minimized = new Map<string, UnlistedDifference>()
      for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
        const startedAt = performance.now()
        const result = await runSeed({ druid, svc }, seed, requests).catch((error: Error) => {
          print(`Seed ${seed} failed: ${error.message}`)
          failedSeeds.push(seed)
          if (failedSeeds.length > maxFailedSeeds) throw error
        })
        if (result === undefined) continue
        results.push(result)
        const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
        print(
          `Seed ${seed}: ${result.requests} requests in ${seconds} s, ${result.unlisted.length} unlisted differences`,
        )
        for (const found of result.unlisted) {
          if (minimized.has(kindOf(found))) continue
          const small = await minimize({ druid, svc }, found)
          minimized.set(kindOf(found), small)
          print(JSON.stringify(describe(small)))
        }
      }
      const report = summarize(results, [...minimized.values()], failedSeeds)
      printSummary(report, print)
      return report
    } finally {
      await svc.stop()
    }
  } finally {
    await druid.stop()
  }
}

function printSummary(report: Report, print: (line: string) => void): void {
  print(
    `\n${report.requests} requests over ${report.seeds.length} seeds, ${report.unsettled} times not settled`,
  )
  const { state, duties, requests: sending } = report.spentMs
  const seconds = (durationMs: number): string => `${(durationMs / 1000).toFixed(0)} s`
  const perSecond = (1000 * report.requests) / (state + duties + sending)
  print(
    `${perSecond.toFixed(1)} requests per second: ${seconds(state)} to build states, ${seconds(duties)} for duties, ${seconds(sending)} for requests`,
  )
  for (const [name, { requests, percent }] of Object.entries(report.listed))
    print(`${String(requests).padStart(7)}  ${percent.toFixed(2).padStart(6)}%  ${name}`)
  for (const name of report.tooFrequent)
    print(`The listed difference [${name}] covers more than ${maxPercent}% of the requests`)
  if (report.requests < minRequestsForShares)
    print(
      `Did not check that each listed difference covers at most ${maxPercent}% of the requests: this takes at least ${minRequestsForShares} requests`,
    )
  print(
    hasPassed(report)
      ? 'passed'
      : `FAILED: ${report.unlisted.length} kinds of unlisted differences, ${report.tooFrequent.length} listed differences that are too frequent, ${report.failedSeeds.length} failed seeds`,
  )
}
