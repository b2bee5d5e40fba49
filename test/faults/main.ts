// Runs fault seeds against complete clusters, or checks the histories of earlier runs again.
import path from 'node:path'
import { parseArgs } from 'node:util'
import { repositoryRoot } from '@svc/cli/home'
import { failWithUsage, readNumber, readSeeds } from '../support/seed-options.ts'
import { checkHistory, type Verdict } from './check/index.ts'
import { readHistory } from './history.ts'
import {
  commitOfSource,
  passedSeedsFile,
  readPassedSeeds,
  recordPassedSeed,
  seedsToRun,
} from './passed-seeds.ts'
import { runSeed, type SeedResult } from './run-seed.ts'
import { prepareHome } from './world.ts'

const usage = `Usage: npm run test:faults -- [--seed N | --seeds FROM-TO] [--seconds S] [--histories DIR] [--record]
       npm run test:faults -- --check FILE...

Options:
  --seed N         Run one seed (default: 1)
  --seeds FROM-TO  Run several seeds, one after another
  --seconds S      Duration of the workload and faults per seed, in seconds (default: 60)
  --histories DIR  Directory for the histories (default: .cache/faults)
  --record         Add each seed that passes to docs/passed-seeds.jsonl, and skip seeds that have already passed a run of at least S seconds
  --check FILE     Check the history of an earlier run again
`

function fail(message: string): never {
  return failWithUsage(usage, message)
}

function readOptions() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        seed: { type: 'string' },
        seeds: { type: 'string' },
        seconds: { type: 'string', default: '60' },
        histories: { type: 'string', default: path.join(repositoryRoot, '.cache/faults') },
        record: { type: 'boolean', default: false },
        check: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    return fail((error as Error).message)
  }
}

const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

/** Prints the result of a history; returns whether it is good. */
function printVerdict(what: string, { violations, longest }: Verdict): boolean {
  const isGood = violations.length === 0
  process.stdout.write(
    `${isGood ? 'passed' : 'FAILED'}  ${what}; longest time without a leader: ${inSeconds(longest.leaderlessMs)}, longest recovery: ${inSeconds(longest.recoveryMs)}\n`,
  )
  for (const { invariant, what: found } of violations) process.stdout.write(`  ${invariant}: ${found}\n`)
  return isGood
}

const { values, positionals } = readOptions()
if (values.help) process.stdout.write(usage)
else if (values.check) checkAgain(positionals)
else await runSeeds()

function checkAgain(files: readonly string[]): void {
  if (files.length === 0) fail('Option --check requires a file')
  for (const file of files) {
    let verdict: Verdict
    try {
      verdict = checkHistory(readHistory(file))
    } catch (error) {
      fail(`Invalid history [${file}]: ${(error as Error).message}`)
    }
    if (!printVerdict(file, verdict)) process.exitCode = 1
  }
}

async function runSeeds(): Promise<void> {
  if (positionals.length > 0) fail(`Unexpected argument [${positionals[0]}]`)
  const seconds = readNumber(fail, 'seconds', values.seconds, 1, 3600)
  const requestedSeeds = readSeeds(fail, values, 10_000)
  const commit = values.record ? commitOfSource() : undefined
  if (values.record && commit === undefined)
    fail('Option --record requires committed sources; git status shows uncommitted files')
  const seeds =
    commit === undefined
      ? requestedSeeds
      : seedsToRun(requestedSeeds, seconds, readPassedSeeds(passedSeedsFile))
  if (seeds.length < requestedSeeds.length)
    process.stdout.write(`Skipped seeds that have passed before: ${requestedSeeds.length - seeds.length}\n`)
  if (seeds.length === 0) return
  const failed: number[] = []
  const prepared = await prepareHome()
  try {
    for (const seed of seeds) {
      const result = await runSeed(seed, seconds, values.histories, prepared).catch(String)
      if (!hasPassed(seed, result)) failed.push(seed)
      else if (commit !== undefined)
        recordPassedSeed(passedSeedsFile, { seed, seconds, commit, without: result.without })
    }
  } finally {
    prepared.remove()
  }
  process.stdout.write(`${seeds.length - failed.length} passed, ${failed.length} failed\n`)
  if (failed.length > 0) process.exitCode = 1
}

/** Runs a seed and prints its result, or why it could not be run; returns whether it passed. */
function hasPassed(seed: number, result: SeedResult | string): result is SeedResult {
  if (typeof result === 'string') {
    process.stdout.write(`FAILED  seed ${seed} ${result}\n`)
    return false
  }
  const { verdict, tookMs, file } = result
  const parts = Object.entries(tookMs).map(([part, ms]) => `${part} ${inSeconds(ms)}`)
  return printVerdict(`seed ${seed} (${parts.join(', ')}) ${file}`, verdict)
}
