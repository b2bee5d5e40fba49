import type { Command } from 'commander'
import { existingHome, withHome } from '../options/index.ts'
import { printJson } from '../output/index.ts'

/** The options of `./svc ingest` as commander reads them. */
interface IngestOptions {
  readonly home?: string
  readonly datasource: string
  readonly timestamp: string
  readonly granularity: string
  readonly timestampFormat: string
  readonly format?: string
  readonly append?: boolean
  readonly dimensions?: string
  readonly waitLoaded?: boolean
  readonly json?: boolean
}

/** Adds `./svc ingest`. */
export function addIngest(program: Command): void {
  const command = program
    .command('ingest')
    .argument(
      '<file>',
      'CSV (with a header line), JSON Lines, or Parquet file, optionally compressed (.gz or .zst)',
    )
    .description('Ingest a file into a datasource')
    .requiredOption('--datasource <name>', 'Target datasource')
    .requiredOption('--timestamp <column>', 'Column with the timestamp of a row')
    .option('--granularity <name>', 'Segment granularity: HOUR, DAY, MONTH, …', 'DAY')
    .option('--format <name>', 'Input format: csv, json, or parquet (default: from the file extension)')
    .option(
      '--timestamp-format <format>',
      'Timestamp format: auto, iso, millis, posix, micro, nano, or a pattern such as yyyy-MM-dd',
      'auto',
    )
    .option('--dimensions <list>', 'Comma-separated list of columns to store (default: all)')
  const append = command.createOption('--append', 'Keep existing data in the same time range')
  const replace = command.createOption('--replace', 'Replace existing data in the same time range (default)')
  command.addOption(append).addOption(replace.conflicts('append'))
  withHome(command)
    .option('--wait-loaded', 'Wait until historicals serve the datasource')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
A file outside the folders that the overlord is allowed to read is copied into the home for the duration of the task.
Ctrl-C cancels the task, and nothing is ingested.

Examples:
  ./svc ingest data/flights.csv --datasource flights --timestamp time
  ./svc ingest events.json.gz --datasource events --timestamp ts --granularity HOUR --append
  ./svc ingest sales.csv --datasource sales --timestamp day --timestamp-format dd.MM.yyyy --dimensions shop,item`,
    )
    .action(runIngest)
}

async function runIngest(file: string, options: IngestOptions): Promise<void> {
  const home = existingHome(options.home)
  const [
    { connectToCluster },
    { findFile, ingestFile, parseIngest, resultText, showProgress, warningsOf },
    { stopRequest },
  ] = await Promise.all([
    import('../client/index.ts'),
    import('../ingest/index.ts'),
    import('../exit/index.ts'),
  ])
  // Checked before the format: a wrong path is the most common mistake.
  await findFile(file)
  const spec = parseIngest(file, options)
  const client = connectToCluster(home)
  const { signal } = stopRequest()
  const out = options.json ? process.stderr : process.stdout
  const progress = showProgress(out)
  try {
    const result = await ingestFile(client, home, {
      file,
      spec,
      waitLoaded: options.waitLoaded ?? false,
      signal,
      onTask: (id) => progress.print(`Task ${id}`),
      onPhase: (phase) => progress.show(phase),
    })
    progress.end()
    for (const warning of warningsOf(result.counts ?? {}, file)) process.stderr.write(`Warning: ${warning}\n`)
    if (options.json) {
      printJson(result)
      return
    }
    process.stdout.write(resultText(result))
  } finally {
    progress.end()
  }
}
