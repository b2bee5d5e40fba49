import type { Command } from 'commander'
import { existingHome, withHome } from './home-option.ts'
import { printJson, tellNotices } from './print.ts'

interface BackupOptions {
  readonly home?: string
  readonly json?: boolean
}

/** Adds `./svc backup` and `./svc restore`. */
export function addBackup(program: Command): void {
  withHome(
    program
      .command('backup')
      .argument('<folder>', 'a new folder')
      .description('write the metadata store and deep storage of a cluster into a folder'),
  )
    .option('--json', 'print what was written as JSON')
    .addHelpText(
      'after',
      `
The cluster may run and work on: the store is written as it is at one moment, with the files that it names.
Every file is compared with the size and checksum of its segment: where one is missing or another than was stored,
nothing is written, and restore makes nothing of such a backup, nor of one without its passwords.
The folder holds the passwords of admin and of the servers; only you may read it.

Examples:
  ./svc backup backups/monday
  ./svc restore backups/monday --home restored && ./svc up --home restored`,
    )
    .action(runBackup)
  withHome(
    program
      .command('restore')
      .argument('<folder>', 'what ./svc backup wrote')
      .description('make a new home from a backup'),
  )
    .option('--json', 'print what was made as JSON')
    .action(runRestore)
}

async function runBackup(folder: string, { home: homeFolder, json }: BackupOptions): Promise<void> {
  const home = existingHome(homeFolder)
  const [{ backUp }, { withStoreOf }, { stopRequest }] = await Promise.all([
    import('../backup/index.ts'),
    import('../cluster/index.ts'),
    import('./stop-request.ts'),
  ])
  const { signal } = stopRequest()
  const result = await withStoreOf(home, signal, (database, storageDirectory) =>
    backUp(
      { database, home, storageDirectory },
      folder,
      ({ phase, files, sizeBytes }) =>
        process.stderr.write(
          phase === 'tables' ? 'writing tables\n' : `${files} files, ${sizeBytes} bytes\n`,
        ),
      signal,
    ),
  )
  if (json) printJson(result)
  else
    process.stdout.write(
      `Wrote the metadata store and [${result.files}] files ([${result.sizeBytes}] bytes) to [${folder}]\n`,
    )
}

async function runRestore(folder: string, { home, json }: BackupOptions): Promise<void> {
  const [{ restore }, { defaultHome }, { stopRequest }] = await Promise.all([
    import('../backup/index.ts'),
    import('../home/index.ts'),
    import('./stop-request.ts'),
  ])
  const result = await restore(folder, home ?? defaultHome, stopRequest().signal)
  tellNotices(result.notices)
  if (json) printJson(result)
  else
    process.stdout.write(
      `Made home [${result.home}] from the backup of ${result.createdAt}; start it with ./svc up${home === undefined ? '' : ` --home ${home}`}\n`,
    )
}
