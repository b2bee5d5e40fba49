import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../options/index.ts'
import { printJson, printNotices } from '../output/index.ts'

interface PullOptions extends ConnectionOptions {
  readonly json?: boolean
}

/** Adds `./svc pull`. */
export function addPull(program: Command): void {
  withConnection(
    program
      .command('pull')
      .description('Write the configuration of a cluster to YAML files, or update existing ones'),
  )
    .argument('<dir>', 'Folder, or one YAML file')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Writes rules, compaction, the coordinator's dynamic configuration, users, and roles, each to its own file in the folder.
Passwords are never written.

In files that already exist, only the sections they contain are updated, and only lines whose values differ from the
cluster change.

Examples:
  ./svc pull state
  ./svc pull state --url https://druid.example.com:9088 --user admin --password-file password`,
    )
    .action(async (dir: string, { json, ...connection }: PullOptions) => {
      const client = await connect(connection)
      const [{ incompleteNotice, readLiveState, withHiddenEntries }, { parseState }, files] =
        await Promise.all([
          import('../live-state/index.ts'),
          import('../declared-state/index.ts'),
          import('../state-files/index.ts'),
        ])
      const existing = files.existingStateFiles(dir)
      const declared = parseState(existing)
      const unreadable = declared.problems.filter(({ unlessLive }) => unlessLive === undefined)
      if (unreadable.length > 0) throw files.problemsFailure(existing, unreadable)
      const parts = [...declared.sections.values()].map(({ path }) => path[0]!)
      const read = await readLiveState(client, existing.length === 0 ? undefined : new Set(parts))
      const live = await withHiddenEntries(client, read, declared)
      const written = files.writeState(dir, existing, declared, live)
      const notices = [...live.unseen].map(
        ([key, reason]) => `Skipped [${(JSON.parse(key) as string[]).join('.')}]: ${reason}`,
      )
      printNotices([...notices, ...incompleteNotice(live)])
      if (json) {
        printJson(written)
        return
      }
      const { countOf } = await import('../terminal/index.ts')
      process.stdout.write(
        written.files.length === 0
          ? `The files in [${dir}] already declare this configuration.\n`
          : `Wrote ${countOf(written.entries.length, 'entry', 'entries')} to [${written.files.join('], [')}].\n`,
      )
    })
}
