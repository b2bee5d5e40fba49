import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { HomeLayout } from '../home/index.ts'
import { existingHome, withHome } from './home-option.ts'

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
    .argument('[role]', 'a role or instance, also postgres, redis or supervisor (default: all)')
    .description('show what the processes have logged')
  withHome(command)
    .option('-f, --follow', 'go on showing what is logged, until Ctrl-C')
    .option('-n, --lines <count>', 'as many of the last lines of each process', '20')
    .option('--task <id>', 'the log of a task instead')
    .option('--json', 'print the lines as they were logged')
    .action(async (role: string | undefined, options: LogsOptions) => {
      const home = existingHome(options.home)
      if (!/^\d{1,6}$/.test(options.lines)) {
        throw invalidInput(`Option --lines has value [${options.lines}], allowed are whole numbers`)
      }
      if (options.task !== undefined) {
        if (role !== undefined || options.follow)
          throw invalidInput('Option --task cannot be used with a role or with --follow')
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
        isRead: () => process.stdout.writable,
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
