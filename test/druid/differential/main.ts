// Sends the same random requests to Druid 37 and to svc, and prints where their answers differ.
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { repositoryRoot } from '@svc/cli/home'
import { differencesPage } from './differences-page.ts'
import { hasPassed } from './report.ts'
import { runDifferential } from './run.ts'

const usage = `Usage: npm run test:differential -- [--seeds N] [--requests M] [--from SEED] [--json FILE] [--page]

Options:
  --seeds N     Number of seeds (default: 200)
  --requests M  Number of requests for each seed (default: 100)
  --from SEED   First seed (default: 1)
  --json FILE   File for the report (default: .cache/differential/report.json)
  --page        Write docs/differences.md from the list of differences instead
`

function fail(message: string): never {
  process.stderr.write(`${message}\n\n${usage}`)
  process.exit(2)
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        seeds: { type: 'string', default: '200' },
        requests: { type: 'string', default: '100' },
        from: { type: 'string', default: '1' },
        json: { type: 'string', default: path.join(repositoryRoot, '.cache/differential/report.json') },
        page: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    return fail((error as Error).message)
  }
}

function readNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    fail(`Invalid value [${text}] for [--${name}]: expected a positive number.`)
  return Number(text)
}

const options = readOptions()
if (options.help) process.stdout.write(usage)
else if (options.page) writeFileSync(path.join(repositoryRoot, 'docs/differences.md'), differencesPage())
else {
  const report = await runDifferential(
    {
      seeds: readNumber('seeds', options.seeds),
      requests: readNumber('requests', options.requests),
      firstSeed: readNumber('from', options.from),
    },
    (text) => process.stdout.write(`${text}\n`),
  )
  mkdirSync(path.dirname(options.json), { recursive: true })
  writeFileSync(options.json, `${JSON.stringify(report, undefined, 2)}\n`)
  process.stdout.write(`Wrote ${options.json}\n`)
  if (!hasPassed(report)) process.exitCode = 1
}
