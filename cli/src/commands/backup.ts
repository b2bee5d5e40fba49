import type { Command } from 'commander'
import { collect, existingHome, withHome } from '../options/index.ts'
import { printJson, printNotices } from '../output/index.ts'
import { countOf, formatBytes } from '../terminal/index.ts'

interface BackupOptions {
  readonly home?: string
  readonly json?: boolean
  readonly set?: readonly string[]
}

const setOption = [
  '--set <name=value>',
  'Set an svc.* property, such as the location of deep storage (repeatable)',
  collect,
] as const

/** Adds `./svc backup` and `./svc restore`. */
export function addBackup(program: Command): void {
  withHome(
    program
      .command('backup')
      .argument('<folder>', 'New folder for the backup')
      .description('Back up the metadata store and deep storage of a cluster to a folder'),
  )
    .option(...setOption)
    .option('--json', 'Print a JSON summary')
    .addHelpText(
      'after',
      `
The cluster can keep running: the backup is a consistent snapshot of the store and the files it references.
The size and checksum of every file are verified. If a file is missing or has changed, nothing is written.
./svc restore also verifies every file, and rejects a backup that is damaged or whose passwords are missing.
If the cluster is not running, the command looks for deep storage in the home. For S3, repeat the --set options of ./svc up.
The folder contains the passwords of the admin and of the servers. Only you can read it.

Examples:
  ./svc backup backups/monday
  ./svc restore backups/monday --home restored && ./svc up --home restored`,
    )
    .action(runBackup)
  withHome(
    program
      .command('restore')
      .argument('<folder>', 'Folder written by ./svc backup')
      .description('Create a home from a backup'),
  )
    .option(...setOption)
    .option('--json', 'Print a JSON summary')
    .addHelpText(
      'after',
      `
Files are restored to the deep storage of the new cluster: a folder in its home, or S3 if --set configures it. Where the
original cluster stored them does not matter.`,
    )
    .action(runRestore)
}

async function runBackup(folder: string, { home: homeFolder, json, set = [] }: BackupOptions): Promise<void> {
  const home = existingHome(homeFolder)
  const [{ backUp }, { withStoreOf }, { stopRequest }] = await Promise.all([
    import('../backup/index.ts'),
    import('../cluster/index.ts'),
    import('../exit/index.ts'),
  ])
  const { signal } = stopRequest()
  const result = await withStoreOf(home, { set, signal }, (database, storage) =>
    backUp(
      { database, home, storage },
      folder,
      ({ phase, files, sizeBytes }) =>
        process.stderr.write(
          phase === 'tables'
            ? 'Writing tables\n'
            : `Copied ${countOf(files, 'file')} (${formatBytes(sizeBytes)})\n`,
        ),
      signal,
    ),
  )
  if (json) printJson(result)
  else
    process.stdout.write(
      `Backed up the metadata store and ${countOf(result.files, 'file')} (${formatBytes(result.sizeBytes)}) to [${folder}]\n`,
    )
}

async function runRestore(folder: string, { home, json, set = [] }: BackupOptions): Promise<void> {
  const [{ restore }, { defaultHome, homeArgument }, { stopRequest }] = await Promise.all([
    import('../backup/index.ts'),
    import('../home/index.ts'),
    import('../exit/index.ts'),
  ])
  const result = await restore(folder, home ?? defaultHome, { set, signal: stopRequest().signal })
  printNotices(result.notices)
  if (json) printJson(result)
  else
    process.stdout.write(
      `Created home [${result.home}] from the backup of ${result.createdAt}. Start it with ./svc up${home === undefined ? '' : homeArgument(home)}${set.length > 0 ? ' and the same --set options' : ''}\n`,
    )
}
