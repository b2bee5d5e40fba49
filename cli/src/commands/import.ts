import type { Command } from 'commander'
import { countOf } from '../terminal/index.ts'
import { withHome } from './home-option.ts'
import { printJson, printProgress } from './print.ts'
import { type SourceOptions, withSource } from './transfer-source.ts'

interface ImportOptions extends SourceOptions {
  readonly from: string
  readonly home?: string
  readonly loadBytesPerSecond: string
  readonly json?: boolean
}

/** Adds `./svc import`. */
export function addImport(program: Command): void {
  const command = withHome(
    program
      .command('import')
      .description(
        'Create a rehearsal cluster with the rules of a real cluster and virtual copies of its servers and segments',
      ),
  ).requiredOption(
    '--from <source>',
    'URL of the router or coordinator of the source cluster (svc or Druid), or a folder written by ./svc export',
  )
  withSource(command)
    .option('--load-bytes-per-second <size>', 'Load rate of each virtual server', '1TiB')
    .option('--json', 'Print a JSON summary')
    .addHelpText(
      'after',
      `
svc only reads from the source. If the import fails, no home is created. Segments are imported without their data:
rules, previews, and compaction status work on the real inventory, but there is no data for queries and tasks.

Examples:
  ./svc import --from https://cluster.example:9088 --user reader --password-file secret --trust ca.pem --home rehearsal
  ./svc up --home rehearsal --detach
  ./svc rules preview new-rules.json --datasource flights --home rehearsal`,
    )
    .action(runImport)
}

async function runImport(options: ImportOptions): Promise<void> {
  const [
    { createRehearsal },
    { openSource },
    { printSkipped },
    { stopRequest },
    { defaultHome, homeArgument },
  ] = await Promise.all([
    import('../rehearsal/index.ts'),
    import('./transfer-source.ts'),
    import('./export.ts'),
    import('./stop-request.ts'),
    import('../home/index.ts'),
  ])
  const { signal } = stopRequest()
  const source = await openSource(options.from, options, signal)
  const result = await createRehearsal(source, {
    home: options.home ?? defaultHome,
    loadBytesPerSecond: options.loadBytesPerSecond,
    skipBad: options.skipBad ?? false,
    problemsFile: options.problems,
    signal,
    onStep: printProgress,
  })
  if (options.json) {
    printJson(result)
    return
  }
  printSkipped(result)
  const { home, from, segments, overshadowed, servers, tiers, rules, compactionConfigs } = result
  const parts = [
    `${countOf(segments, 'segment')} (${overshadowed.toLocaleString('en-US')} overshadowed)`,
    `${countOf(servers, 'virtual server')} (tiers: ${tiers.join(', ')})`,
    countOf(rules, 'rule list'),
    countOf(compactionConfigs, 'compaction configuration'),
  ]
  process.stdout.write(
    `Created home [${home}] from [${from}]: ${parts.join(', ')}\n` +
      `Start it with ./svc up${homeArgument(home)} --detach\n`,
  )
}
