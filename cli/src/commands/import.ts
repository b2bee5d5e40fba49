import type { Command } from 'commander'
import { withHome } from './home-option.ts'
import { printJson, tellProgress } from './print.ts'
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
        'make a new home from what a real cluster manages, with virtual servers and segments, to rehearse changes on',
      ),
  ).requiredOption(
    '--from <source>',
    'URL of its router or coordinator, also one that says druid, or a folder that ./svc export wrote',
  )
  withSource(command)
    .option('--load-bytes-per-second <size>', 'how fast each virtual server loads', '1TiB')
    .option('--json', 'print what was made as JSON')
    .addHelpText(
      'after',
      `
The source is only read. It becomes a whole home, or nothing. Segments come without their bytes: rules, previews and
compaction status speak of the real inventory, queries and tasks have nothing to work on.

Examples:
  ./svc import --from https://cluster.example:9088 --user reader --password-file secret --trust ca.pem --home rehearsal
  ./svc up --home rehearsal --detach
  ./svc rules preview new-rules.json --datasource flights --home rehearsal`,
    )
    .action(runImport)
}

async function runImport(options: ImportOptions): Promise<void> {
  const [{ makeRehearsal }, { openSource }, { tellLeftOut }, { stopRequest }, { defaultHome, homeArgument }] =
    await Promise.all([
      import('../rehearsal/index.ts'),
      import('./transfer-source.ts'),
      import('./export.ts'),
      import('./stop-request.ts'),
      import('../home/index.ts'),
    ])
  const { signal } = stopRequest()
  const source = await openSource(options.from, options, signal)
  const result = await makeRehearsal(source, {
    home: options.home ?? defaultHome,
    loadBytesPerSecond: options.loadBytesPerSecond,
    skipBad: options.skipBad ?? false,
    problemsFile: options.problems,
    signal,
    onStep: tellProgress,
  })
  if (options.json) {
    printJson(result)
    return
  }
  tellLeftOut(result)
  const { home, from, segments, overshadowed, servers, tiers, rules, compactionConfigs } = result
  process.stdout.write(
    `Made home [${home}] from [${from}]: ${segments} segments (${overshadowed} overshadowed), ${servers} virtual servers ` +
      `in tiers ${tiers.join(', ')}, ${rules} lists of rules, ${compactionConfigs} compaction configurations\n` +
      `Start it with ./svc up${homeArgument(home)} --detach\n`,
  )
}
