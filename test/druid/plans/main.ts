// Plans and applies random changes to the entire configuration of Druid 37, and compares what Druid then has with the
// plans.
import { parseArgs } from 'node:util'
import { runPlans } from './run.ts'

const usage = `Usage: npm run test:plans -- [--seeds N] [--changes M] [--from SEED]

Options:
  --seeds N    Number of clusters (default: 10)
  --changes M  Number of changes for each cluster (default: 5)
  --from SEED  First seed (default: 1)
`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10' },
    changes: { type: 'string', default: '5' },
    from: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) process.stdout.write(usage)
else {
  const { right, wrong, dropped } = await runPlans(
    { firstSeed: Number(values.from), seeds: Number(values.seeds), changes: Number(values.changes) },
    (line) => process.stdout.write(`${line}\n`),
  )
  process.stdout.write(
    `${right} of ${right + wrong} plans predicted what Druid then had; ${dropped} changes were dropped\n`,
  )
  if (wrong > 0) process.exitCode = 1
}
