import { describeError } from '@svc/domain/failure'
import type { Command } from 'commander'
import { exitStatus } from '../exit/index.ts'
import { existingHome, parsePositiveInteger, withHome } from '../options/index.ts'
import { printJson } from '../output/index.ts'

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
    .description('Show recent calls between servers, with the user and certificate of each')
  withHome(command)
    .option('--instance <name>', 'Show only calls in the journal of this server')
    .option('--count <n>', 'Number of recent calls to show', '40')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Each server keeps a journal of the calls it sends and receives (GET /svc/internal/v1/calls), so a call between two
servers is listed twice. Requests that the router forwards for clients are not included.`,
    )
    .action(async ({ home, instance, count, json }: CallsOptions) => {
      const last = parsePositiveInteger('--count', count, 1000)
      const { gatherCalls } = await import('../calls/index.ts')
      const { entries: calls, missing } = await gatherCalls(existingHome(home), last, instance)
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
      for (const { instance: name, error } of missing)
        process.stderr.write(`svc: Failed to query ${name}: ${describeError(error)}\n`)
      process.exitCode = missing.length > 0 ? exitStatus.failed : exitStatus.done
    })
}
