import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { existingHome, withHome } from './home-option.ts'

interface LogsOptions {
  readonly home?: string
  readonly follow?: boolean
  readonly lines: string
  readonly json?: boolean
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
    .option('--json', 'print the lines as they were logged')
    .action(async (role: string | undefined, options: LogsOptions) => {
      const home = existingHome(options.home)
      if (!/^\d{1,6}$/.test(options.lines)) {
        throw invalidInput(`Option --lines has value [${options.lines}], allowed are whole numbers`)
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
