import type { Command } from 'commander'
import { existingHome, withHome } from './home-option.ts'
import { printJson, tellNotices, tellProgress } from './print.ts'
import { openSource, type SourceOptions, withSource } from './transfer-source.ts'

interface ExportOptions extends SourceOptions {
  readonly home?: string
  readonly from?: string
  readonly json?: boolean
}

/** Adds `./svc export`. */
export function addExport(program: Command): void {
  const command = withHome(
    program
      .command('export')
      .argument('<folder>', 'a new folder')
      .description(
        'write what a cluster manages into a folder: segments, servers, rules, compaction, configuration',
      ),
  ).option(
    '--from <source>',
    'URL of the router or coordinator of another cluster, also one that says druid, or a folder (default: this cluster)',
  )
  withSource(command)
    .option('--json', 'print what was written as JSON')
    .addHelpText(
      'after',
      `
Only the interface is read, nothing is changed. ./svc import takes the folder.

Examples:
  ./svc export inventory
  ./svc export inventory --from https://cluster.example:8281 --user reader --password-file secret --trust ca.pem`,
    )
    .action(runExport)
}

async function runExport(folder: string, options: ExportOptions): Promise<void> {
  const [{ exportSnapshot }, { stopRequest }] = await Promise.all([
    import('../transfer/index.ts'),
    import('./stop-request.ts'),
  ])
  const { signal } = stopRequest()
  const source = await openSource(options.from ?? existingHome(options.home), options, signal)
  const result = await exportSnapshot(source, folder, {
    skipBad: options.skipBad ?? false,
    problemsFile: options.problems,
    onProgress: (segments) => tellProgress(`${segments} segments`),
    signal,
  })
  if (options.json) {
    printJson(result)
    return
  }
  tellLeftOut(result)
  process.stdout.write(
    `Wrote [${result.segments}] segments of [${source.name}] to [${folder}]: ${result.files.join(', ')}\n`,
  )
}

/** Tells what is to be known of a source, and what of it was left out because it could not be read. */
export function tellLeftOut({
  leftOut,
  problems,
  notices,
}: {
  readonly leftOut: number
  readonly problems: readonly string[]
  readonly notices: readonly string[]
}): void {
  tellNotices(notices)
  if (leftOut === 0) return
  process.stderr.write(`svc: left out [${leftOut}] parts:\n${problems.map((line) => `  ${line}\n`).join('')}`)
}
