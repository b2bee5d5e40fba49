// Shows that the simulation finds known mistakes: breaks the product in one way at a time, and simulates seeds until one fails.
import { parseArgs } from 'node:util'
import { findMutation } from './find-mutation.ts'
import { type KnownMutation, mutations } from './mutations.ts'

const usage = `Usage: npm run test:mutations -- [--only TEXT] [--skip N] [--seeds N] [--minutes M] [--processes N]

Options:
  --only TEXT    Only the changes whose description contains TEXT
  --skip N       Number of changes to skip at the start of the list (default: 0)
  --seeds N      Seeds to try per change (default: 500)
  --minutes M    Simulated duration of work and faults per seed, in minutes (default: 5)
  --processes N  Number of processes (default: 1)
`

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    skip: { type: 'string', default: '0' },
    seeds: { type: 'string', default: '500' },
    minutes: { type: 'string', default: '5' },
    processes: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})
const limits = {
  maxSeeds: Number(values.seeds),
  minutes: Number(values.minutes),
  processes: Number(values.processes),
}

const skipped = Number(values.skip)
const isValid =
  Object.values(limits).every((limit) => Number.isInteger(limit) && limit > 0) &&
  Number.isInteger(skipped) &&
  skipped >= 0

if (values.help || !isValid) process.stdout.write(usage)
else await run(mutations.slice(skipped).filter(({ what }) => what.includes(values.only)))

async function run(chosen: readonly KnownMutation[]): Promise<void> {
  let found = 0
  for (const mutation of chosen) {
    const result = await findMutation(mutation, limits).catch((error: Error) => error)
    if (result instanceof Error) process.stdout.write(`DOES NOT RUN  ${mutation.what}\n  ${result.message}\n`)
    else if (result === undefined) process.stdout.write(`NOT FOUND  ${mutation.what}\n`)
    else {
      found += 1
      process.stdout.write(`found by seed ${result.seed}  ${mutation.what}\n  ${result.violation}\n`)
    }
  }
  process.stdout.write(`${found} of ${chosen.length} found\n`)
  if (found < chosen.length) process.exitCode = 1
}
