import type { Command } from 'commander'
import { collect, existingHome, parsePositiveInteger, withHome } from '../options/index.ts'

/** Adds `./svc worker`. */
export function addWorker(program: Command): void {
  const command = program
    .command('worker')
    .description('Run a worker for a running cluster until you press Ctrl-C')
  withHome(command)
    .option('--capacity <n>', 'Maximum number of concurrent tasks', '4')
    .option('--set <name=value>', 'Set an svc.* property of the worker (repeatable)', collect)
    .addHelpText(
      'after',
      `
When the worker stops, its running tasks restart on other workers. To start workers with the cluster:
  ./svc up --instances worker=2`,
    )
    .action(async (options: { home?: string; capacity: string; set?: readonly string[] }) => {
      const capacity = parsePositiveInteger('--capacity', options.capacity, 9999)
      const home = existingHome(options.home)
      const [{ startWorker }, { stopRequest }] = await Promise.all([
        import('../cluster/index.ts'),
        import('../exit/index.ts'),
      ])
      const { signal, requested } = stopRequest()
      const worker = await startWorker({
        home,
        capacity,
        set: options.set ?? [],
        signal,
        onEnd: ({ instance, reason, restartDelayMs }) => {
          if (restartDelayMs === undefined) return
          process.stdout.write(`${instance} exited (${reason}); restarting\n`)
        },
      })
      process.stdout.write(
        `Started ${worker.instance} at ${worker.url} (max concurrent tasks: ${capacity}). Press Ctrl-C to stop it.\n`,
      )
      await requested
      await worker.stop()
      process.stdout.write(`Stopped ${worker.instance}.\n`)
    })
}
