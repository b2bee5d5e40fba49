// Runs all hostile requests against a cluster, and prints the ten requests that delay a server most.
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { repositoryRoot } from '@svc/cli/home'
import { seededRandom } from '../support/random.ts'
import { loadRouteTables } from '../support/route-tables.ts'
import { type AttackReport, attack, endpointsWith } from './attack.ts'
import { fittingCases, type HostileCase, largeCases, smallCases, storedCases } from './cases.ts'
import { namedCases } from './named-cases.ts'

const usage = `Usage: npm run test:hostile -- [--seed N] [--route TEXT] [--class TEXT] [--size NAME] [--skip N] [--json FILE]

Options:
  --seed N      Seed for the order of the endpoints (default: random; it is printed)
  --route TEXT  Only endpoints such as [broker POST /svc/v2/sql] that contain this text
  --class TEXT  Only input classes whose name contains this text
  --size NAME   Only requests of up to 64 KiB (small), larger ones (large), those just within the limits of values, names,
                and depth (fitting), known attacks (named), or ordinary GET requests while something large is stored (stored)
  --skip N      Skip the first N endpoints, to continue a run with the same seed
  --json FILE   File for the report (default: .cache/hostile/report.json)
`

function fail(message: string): never {
  process.stderr.write(`${message}\n\n${usage}`)
  process.exit(2)
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string' },
        route: { type: 'string', default: '' },
        class: { type: 'string', default: '' },
        size: { type: 'string' },
        skip: { type: 'string', default: '0' },
        json: { type: 'string', default: path.join(repositoryRoot, '.cache/hostile/report.json') },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    return fail((error as Error).message)
  }
}

const kinds = {
  small: smallCases,
  large: largeCases,
  fitting: fittingCases,
  named: namedCases,
  // Grouped by what is stored, not by endpoint.
  stored: () => [],
} as const

const options = readOptions()
if (options.help) process.stdout.write(usage)
else process.exitCode = await run()

/** Runs the attack; returns the exit status. */
async function run(): Promise<number> {
  const { seed, route, class: classText, size, skip, json } = options
  if (seed !== undefined && !/^\d{1,9}$/.test(seed))
    fail(`Invalid value [${seed}] for [--seed]: expected a number of up to 9 digits.`)
  if (!/^\d{1,6}$/.test(skip))
    fail(`Invalid value [${skip}] for [--skip]: expected a number of up to 6 digits.`)
  if (size !== undefined && !Object.hasOwn(kinds, size))
    fail(`Invalid value [${size}] for [--size]: expected one of [${Object.keys(kinds).join(', ')}].`)
  const random = seededRandom(seed === undefined ? undefined : Number(seed))
  const makers = size === undefined ? Object.values(kinds) : [kinds[size as keyof typeof kinds]]
  const endpoints = endpointsWith(await loadRouteTables(), route)
  const byEndpoint = endpoints.map((endpoint) => makers.flatMap((make) => make([endpoint])))
  const byStored = size === undefined || size === 'stored' ? storedCases(endpoints) : []
  const groups = [...byEndpoint, ...byStored]
    .map((cases) => cases.filter(({ inputClass }: HostileCase) => inputClass.name.includes(classText)))
    .filter((cases) => cases.length > 0)
  if (groups.length === 0)
    fail(`No endpoint matches [${route}] with an input class that matches [${classText}]`)
  process.stdout.write(
    `Seed ${random.seed}: ${groups.flat().length} requests to ${groups.length} endpoints\n`,
  )
  const times = { baselineMs: 20_000, maxSettleMs: 60_000, skippedEndpoints: Number(skip) }
  const report = await attack(groups, random, times, (text) => process.stdout.write(text))
  print(report)
  mkdirSync(path.dirname(json), { recursive: true })
  writeFileSync(json, `${JSON.stringify(report, omitSource, 2)}\n`)
  process.stdout.write(`Wrote ${json}\n`)
  return report.problems.length === 0 ? 0 : 1
}

/** Omits the schemas of the endpoints, which are in the OpenAPI document. */
function omitSource(key: string, value: unknown): unknown {
  return key === 'hostile' ? undefined : value
}

function print({
  requests,
  durationMs,
  statuses,
  healthyP99Ms,
  grownBytes,
  worst,
  problems,
}: AttackReport): void {
  const write = (text: string) => process.stdout.write(`${text}\n`)
  write(`\n${requests} requests in ${Math.round(durationMs / 1000)} s; answers: ${JSON.stringify(statuses)}`)
  for (const [instance, { before, during }] of Object.entries(healthyP99Ms)) {
    write(
      `${instance}: healthy p99 ${Math.round(before)} ms before, ${Math.round(during)} ms during; memory ${Math.round((grownBytes[instance] ?? 0) / 1024 / 1024)} MiB above the baseline`,
    )
  }
  write('\nWorst by event-loop delay above the baseline:')
  for (const { about, instance, excessMs, healthyMaxMs, outcomes } of worst) {
    write(
      `${String(Math.round(excessMs)).padStart(7)} ms  ${instance}, healthy user at most ${Math.round(healthyMaxMs)} ms, answer ${outcomes.map(({ status }) => status).join(' ')}: ${about}`,
    )
  }
  write(`\n${problems.length === 0 ? 'passed' : `FAILED, ${problems.length} problems`}`)
  for (const { about, problem } of problems) write(`  ${problem}: ${about}`)
}
