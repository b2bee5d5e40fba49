import type { Command } from 'commander'
import { existingHome, openSource, type SourceOptions, withHome, withSource } from '../options/index.ts'
import { printJson, printNotices, printProgress } from '../output/index.ts'
import { countOf } from '../terminal/index.ts'

interface ExportOptions extends SourceOptions {
  readonly home?: string
  readonly from?: string
  readonly complete?: boolean
  readonly unused?: boolean
  readonly json?: boolean
}

/** Adds `./svc export`. */
export function addExport(program: Command): void {
  const command = withHome(
    program
      .command('export')
      .argument('<folder>', 'New folder for the export')
      .description(
        'Export the segments, servers, rules, compaction, and configuration of a cluster to a folder',
      ),
  ).option(
    '--from <source>',
    'URL of the router or coordinator of another cluster (svc or Druid), or a folder (default: the cluster of this home)',
  )
  withSource(command)
    .option(
      '--complete',
      'Also export suspended supervisors, users and roles (without passwords), and the list of segments on each server',
    )
    .option('--unused', 'Also export unused segments')
    .option('--json', 'Print a JSON summary')
    .addHelpText(
      'after',
      `
The command sends only read requests to the management API. To import the folder, run ./svc import.

Examples:
  ./svc export inventory
  ./svc export inventory --from https://cluster.example:8281 --user reader --password-file secret --trust ca.pem`,
    )
    .action(runExport)
}

async function runExport(folder: string, options: ExportOptions): Promise<void> {
  const [{ exportSnapshot }, { stopRequest }] = await Promise.all([
    import('../snapshot/index.ts'),
    import('../exit/index.ts'),
  ])
  const { signal } = stopRequest()
  const source = await openSource(options.from ?? existingHome(options.home), options, signal)
  const result = await exportSnapshot(source, folder, {
    skipBad: options.skipBad ?? false,
    complete: options.complete,
    unused: options.unused,
    problemsFile: options.problems,
    onProgress: (segments) => printProgress(countOf(segments, 'segment')),
    signal,
  })
  if (options.json) {
    printJson(result)
    return
  }
  printSkipped(result)
  process.stdout.write(
    `Exported ${countOf(result.segments, 'segment')} from [${source.name}] to [${folder}]: ${result.files.join(', ')}\n`,
  )
}

/** Prints the notices of a source, and which unreadable parts were skipped. */
export function printSkipped({
  leftOut,
  problems,
  notices,
}: {
  readonly leftOut: number
  readonly problems: readonly string[]
  readonly notices: readonly string[]
}): void {
  printNotices(notices)
  if (leftOut === 0) return
  process.stderr.write(
    `svc: Skipped ${countOf(leftOut, 'unreadable part')}:\n${problems.map((line) => `  ${line}\n`).join('')}`,
  )
}
