import type { Command } from 'commander'
import { existingHome, withHome } from './home-option.ts'
import { printJson } from './print.ts'
import { parseWholeNumber } from './whole-number.ts'

interface CallsOptions {
  readonly home?: string
  readonly instance?: string
  readonly count: string
  readonly json?: boolean
}

/** Adds `./svc calls`. */
export function addCalls(program: Command): void {
  const command = program
    .command('calls')
    .description('show the last calls of the servers among themselves: who, as whom, with which certificate')
  withHome(command)
    .option('--instance <name>', 'only the journal of this server')
    .option('--count <n>', 'as many of the last calls (default: 40)', '40')
    .option('--json', 'print them as JSON')
    .addHelpText(
      'after',
      `
Each server keeps a journal of what it sent and what it received (GET /svc/internal/v1/calls), so a call between two
servers is shown twice. Requests that the router hands on for its callers are none of them.`,
    )
    .action(async ({ home, instance, count, json }: CallsOptions) => {
      const last = parseWholeNumber('--count', count, 1000)
      const { gatherCalls } = await import('../calls/index.ts')
      const { calls, missing } = await gatherCalls(existingHome(home), last, instance)
      if (json) printJson(calls)
      else {
        const { formatTable } = await import('../terminal/index.ts')
        const rows = calls.map((call) => [
          call.time,
          call.instance,
          call.direction,
          call.from || 'unknown',
          call.to,
          `${call.method} ${call.path}`,
          call.identity || 'nobody',
          call.certificate ?? '',
          call.error ?? String(call.status),
        ])
        const header = ['time', 'server', '', 'from', 'to', 'request', 'as', 'certificate', 'status']
        process.stdout.write(rows.length === 0 ? 'No calls yet.\n' : `${formatTable(header, rows)}\n`)
      }
      for (const { instance: name, reason } of missing)
        process.stderr.write(`svc: ${name} could not be asked: ${reason}\n`)
      process.exitCode = missing.length > 0 ? 1 : 0
    })
}
