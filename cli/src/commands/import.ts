import type { Command } from 'commander'
import { openSource, type SourceOptions, withHome, withSource } from '../options/index.ts'
import { printJson, printProgress, printText } from '../output/index.ts'
import { countOf } from '../terminal/index.ts'

interface ImportOptions extends SourceOptions {
  readonly from: string
  readonly home?: string
  readonly loadBytesPerSecond: string
  readonly unused?: boolean
  readonly partial?: boolean
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
    .option('--unused', 'Also import unused segments')
    .option(
      '--partial',
      'If the user can see only part of the cluster, import that part instead of exiting with status 4',
    )
    .option('--load-bytes-per-second <size>', 'Load rate of each virtual server', '1TiB')
    .option('--json', 'Print a JSON summary')
    .addHelpText(
      'after',
      `
svc only reads from the source. If the import fails, no home is created. Segments are imported without their data:
rules, previews, and compaction status work on the real inventory, but there is no data for queries and tasks.
The import ends with a fidelity report: what was read, what differs from the source and why, and what was not read.
./svc import-report shows it again.

Examples:
  ./svc import --from https://cluster.example:9088 --user reader --password-file secret --trust ca.pem --home rehearsal
  ./svc up --home rehearsal --detach
  ./svc rules preview new-rules.json --datasource flights --home rehearsal`,
    )
    .action(runImport)
}

async function runImport(options: ImportOptions): Promise<void> {
  const [
    { createRehearsal, formatImportReport },
    { printSkipped },
    { stopRequest },
    { defaultHome, homeArgument, homeLayout, recordingFailure },
  ] = await Promise.all([
    import('../import/index.ts'),
    import('./export.ts'),
    import('../exit/index.ts'),
    import('../home/index.ts'),
  ])
  const { signal } = stopRequest()
  const folder = options.home ?? defaultHome
  const { result, report } = await recordingFailure(homeLayout(folder), async () => {
    const source = await openSource(options.from, options, signal)
    return await createRehearsal(source, {
      home: folder,
      loadBytesPerSecond: options.loadBytesPerSecond,
      skipBad: options.skipBad ?? false,
      unused: options.unused,
      partial: options.partial,
      problemsFile: options.problems,
      signal,
      onStep: printProgress,
    })
  })
  if (options.json) {
    printJson(result)
    return
  }
  printSkipped(result)
  const { home, from, segments, overshadowed, servers, tiers, rules, compactionConfigs } = result
  const parts = [
    `${countOf(segments, 'segment')}${overshadowed === null ? '' : ` (${overshadowed.toLocaleString('en-US')} overshadowed)`}`,
    `${countOf(servers, 'virtual server')} (tiers: ${tiers.join(', ')})`,
    countOf(rules, 'rule list'),
    countOf(compactionConfigs, 'compaction configuration'),
  ]
  printText([
    ...formatImportReport(report),
    '',
    `Created home [${home}] from [${from}]: ${parts.join(', ')}`,
    `Start it with ./svc up${homeArgument(home)} --detach`,
  ])
}
