import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { accessOf, type ConnectionOptions, parseInteger, withConnection } from '../options/index.ts'

interface ConsoleOptions extends ConnectionOptions {
  readonly port: string
  readonly write?: string
  readonly druid?: string
}

/** Adds `./svc console`. */
export function addConsole(program: Command): void {
  withConnection(program.command('console'))
    .argument('[snapshot]', 'Folder written by ./svc export, or a folder with files saved from the API')
    .description('Open the console in the browser, to rehearse rules on a snapshot without a cluster')
    .option('--port <n>', 'Port on 127.0.0.1, or 0 for any free port', '9188')
    .option(
      '--write <folder>',
      'Write the page to a new folder that any web server can serve, instead of serving it',
    )
    .option(
      '--druid <folder>',
      'Serve the web console of this Druid installation instead, connected to a running cluster',
    )
    .addHelpText(
      'after',
      `
Everything is computed in the browser, and no data leaves it. Without a snapshot, the page asks for one.

Examples:
  ./svc console inventory
  ./svc console inventory --write site
  ./svc console --druid apache-druid-37.0.0

--druid requires a cluster with svc.api.aliases=["druid"].`,
    )
    .action(runConsole)
}

async function runConsole(snapshot: string | undefined, options: ConsoleOptions): Promise<void> {
  const { port, write, druid } = options
  if (druid !== undefined && (snapshot !== undefined || write !== undefined))
    throw invalidInput('Option --druid cannot be combined with a snapshot or with --write')
  const [{ serveSnapshotPage, writeSnapshotPage }, { stopRequest }] = await Promise.all([
    import('../console-build/index.ts'),
    import('../exit/index.ts'),
  ])
  if (write !== undefined) {
    await writeSnapshotPage(snapshot, write)
    process.stdout.write(`Wrote the console to [${write}]. Any web server can serve this folder.\n`)
    return
  }
  const { requested } = stopRequest()
  const number = parseInteger('--port', port, { min: 0, max: 65_535 })
  const page =
    druid === undefined
      ? await serveSnapshotPage(snapshot, number)
      : await (await import('../druid-console/index.ts')).serveDruidConsole(
          druid,
          await accessOf(options),
          number,
        )
  process.stdout.write(`Open ${page.url} in a browser. Press Ctrl-C to stop.\n`)
  await requested
  page.close()
}
