import type { Command } from 'commander'
import { existingHome, withHome } from './home-option.ts'
import { printJson } from './print.ts'

interface ExportOptions {
  readonly home?: string
  readonly from?: string
  readonly user?: string
  readonly trust?: string
  readonly json?: boolean
}

/** Adds `./svc export`. */
export function addExport(program: Command): void {
  withHome(
    program
      .command('export')
      .argument('<folder>', 'a new folder')
      .description(
        'write what a cluster manages into a folder: segments, servers, rules, compaction, configuration',
      ),
  )
    .option(
      '--from <url>',
      'router or coordinator of another cluster, also one that says druid (default: this one)',
    )
    .option('--user <name:password>', 'who reads it there')
    .option('--trust <file>', 'PEM file of certificates to trust there')
    .option('--json', 'print what was written as JSON')
    .addHelpText(
      'after',
      `
Only the interface is read, nothing is changed. ./svc import takes the folder.

Examples:
  ./svc export inventory
  ./svc export inventory --from https://cluster.example:8281 --user reader:secret --trust ca.pem`,
    )
    .action(runExport)
}

async function runExport(folder: string, { home, from, user, trust, json }: ExportOptions): Promise<void> {
  const [{ exportSnapshot }, { openSource }, { stopRequest }] = await Promise.all([
    import('../transfer/index.ts'),
    import('./transfer-source.ts'),
    import('./stop-request.ts'),
  ])
  const { signal } = stopRequest()
  const source = await openSource(from ?? existingHome(home), { user, trust })
  const result = await exportSnapshot(
    source,
    folder,
    (segments) => process.stderr.write(`${segments} segments\n`),
    signal,
  )
  if (json) printJson(result)
  else
    process.stdout.write(
      `Wrote [${result.segments}] segments of [${source.name}] and ${result.documents.join(', ')} to [${folder}]\n`,
    )
}
