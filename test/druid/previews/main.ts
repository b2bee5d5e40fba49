// Previews random rule changes on imports of Druid 37, and compares them with what Druid does.
import { parseArgs } from 'node:util'
import { runPreviews } from './run.ts'

const usage = `Usage: npm run test:previews -- [--seeds N] [--changes M] [--from SEED]

Options:
  --seeds N    Number of imports (default: 20)
  --changes M  Number of changes for each import (default: 10)
  --from SEED  First seed (default: 1)
`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    changes: { type: 'string', default: '10' },
    from: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) process.stdout.write(usage)
else {
  const { exact, counted, wrong, dropped } = await runPreviews(
    { firstSeed: Number(values.from), seeds: Number(values.seeds), changes: Number(values.changes) },
    (line) => process.stdout.write(`${line}\n`),
  )
  process.stdout.write(
    `${exact + counted} of ${exact + counted + wrong.length} previews were right, ${exact} of them for every segment; ${dropped} changes were dropped\n`,
  )
  if (wrong.length > 0) process.exitCode = 1
}
