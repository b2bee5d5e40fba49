import type { Command } from 'commander'
import { parsePositiveInteger } from '../options/index.ts'

interface ConsoleOptions {
  readonly port: string
  readonly write?: string
}

/** Adds `./svc console`. */
export function addConsole(program: Command): void {
  program
    .command('console')
    .argument('[snapshot]', 'Folder written by ./svc export, or with files saved from the API')
    .description('Open the console without a cluster, to rehearse rules on a snapshot in the browser')
    .option('--port <n>', 'Port on 127.0.0.1', '9188')
    .option('--write <folder>', 'Write the page to a new folder for any web server, instead of serving it')
    .addHelpText(
      'after',
      `
Everything is computed in the browser, and nothing leaves it. Without a snapshot, the page asks for one.

Examples:
  ./svc console inventory
  ./svc console inventory --write site`,
    )
    .action(runConsole)
}

async function runConsole(snapshot: string | undefined, { port, write }: ConsoleOptions): Promise<void> {
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
  const page = await serveSnapshotPage(snapshot, parsePositiveInteger('--port', port, 65_535))
  process.stdout.write(`Open ${page.url} in a browser. Press Ctrl+C to stop.\n`)
  await requested
  page.close()
}
