import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { parsePositiveInteger } from '../options/index.ts'
import { printJson } from '../output/index.ts'

interface SampleCommandOptions {
  readonly days: string
  readonly rows: string
  readonly end?: string
  readonly json?: boolean
}

const dayMs = 86_400_000

/** Adds `./svc sample`. */
export function addSample(program: Command): void {
  program
    .command('sample')
    .description('Write sample data with recent timestamps, to try out period rules')
    .argument('<file>', 'New CSV file (- for standard output)')
    .option('--days <n>', 'Number of days of data to write', '90')
    .option('--rows <n>', 'Number of rows, spread evenly over the days', '20000')
    .option('--end <date>', 'End date, exclusive, for example 2026-01-31 (default: today, UTC)')
    .option('--json', 'Print a JSON summary')
    .addHelpText(
      'after',
      `
The rows are the flights from data/flights.csv, with new dates.

Examples:
  ./svc sample flights.csv --days 120 --rows 50000
  ./svc ingest flights.csv --datasource flights --timestamp time --wait-loaded`,
    )
    .action(async (file: string, options: SampleCommandOptions) => {
      if (options.json && file === '-') throw invalidInput('Option --json requires a file')
      const days = parsePositiveInteger('--days', options.days, 36_500)
      const rows = parsePositiveInteger('--rows', options.rows, 100_000_000)
      if (rows < days)
        throw invalidInput(
          `Invalid value [${rows}] for [--rows]: expected at least one row per day (at least [${days}])`,
        )
      const [{ startOfDay, writeSample }, { countOf }] = await Promise.all([
        import('../sample/index.ts'),
        import('../terminal/index.ts'),
      ])
      const endMs = options.end === undefined ? startOfDay(Date.now()) : parseDay(options.end)
      await writeSample(file, { days, rows, endMs })
      const [start, end] = [endMs - days * dayMs, endMs].map((ms) => new Date(ms).toISOString().slice(0, 10))
      if (options.json) printJson({ file, rows, days, start, end })
      else if (file !== '-')
        process.stdout.write(
          `Wrote ${countOf(rows, 'row')} for ${countOf(days, 'day')} (${start}/${end}) to [${file}].\n`,
        )
    })
}

function parseDay(text: string): number {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  // Date.parse reads 2026-02-31 as 2026-03-03.
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(text))
    throw invalidInput(`Invalid value [${text}] for [--end]: expected a date, for example 2026-01-31`)
  return ms
}
