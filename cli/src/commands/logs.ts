import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { HomeLayout } from '../home/index.ts'
import { existingHome, withHome } from '../options/index.ts'
import { isOutputRead } from '../output/index.ts'

interface LogsOptions {
  readonly home?: string
  readonly follow?: boolean
  readonly lines: string
  readonly json?: boolean
  readonly task?: string
}

/** Adds `./svc logs`. */
export function addLogs(program: Command): void {
  const command = program
    .command('logs')
    .argument('[role]', 'Role or instance, or one of postgres, redis, supervisor (default: all)')
    .description('Show the logs of a cluster')
  withHome(command)
    .option('-f, --follow', 'Keep showing new lines until you press Ctrl-C')
    .option('-n, --lines <count>', 'Number of lines per process', '20')
    .option('--task <id>', 'Show the log of this task instead')
    .option('--json', 'Print JSON (the lines as logged)')
    .action(async (role: string | undefined, options: LogsOptions) => {
      const home = existingHome(options.home)
      if (!/^\d{1,6}$/.test(options.lines)) {
        throw invalidInput(
          `Invalid value [${options.lines}] for [--lines]: expected an integer with at most 6 digits`,
        )
      }
      if (options.task !== undefined) {
        if (role !== undefined || options.follow)
          throw invalidInput('Option --task cannot be combined with a role or with --follow')
        await showTaskLog(home, options.task, options)
        return
      }
      const { showLogs } = await import('../logs/index.ts')
      await showLogs({
        folder: home.logs,
        role,
        lines: Number(options.lines),
        follow: options.follow ?? false,
        asLogged: options.json ?? false,
        write: (text) => process.stdout.write(text),
        isRead: isOutputRead,
      })
    })
}

async function showTaskLog(home: HomeLayout, task: string, { lines, json }: LogsOptions): Promise<void> {
  const [{ connectToCluster }, { readTaskLog }, { readableLine }] = await Promise.all([
    import('../client/index.ts'),
    import('../ingest/index.ts'),
    import('../logs/index.ts'),
  ])
  for (const line of await readTaskLog(connectToCluster(home), task, Number(lines))) {
    process.stdout.write(`${json ? line : readableLine(line)}\n`)
  }
}
