import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { existingHome, withHome } from './home-option.ts'

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
      if (!/^([1-9]\d{0,2}|1000)$/.test(count))
        throw invalidInput(`Option --count has value [${count}], allowed are whole numbers from 1 to 1000`)
      const { gatherCalls } = await import('../calls/index.ts')
      const { calls, missing } = await gatherCalls(existingHome(home), Number(count), instance)
      if (json) process.stdout.write(`${JSON.stringify(calls, null, 2)}\n`)
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
