import type { Command } from 'commander'
import { collect } from './collect.ts'
import { existingHome, withHome } from './home-option.ts'
import { parseWholeNumber } from './whole-number.ts'

/** Adds `./svc worker`. */
export function addWorker(program: Command): void {
  const command = program
    .command('worker')
    .description('add a server that runs tasks to the running cluster, until Ctrl-C')
  withHome(command)
    .option('--capacity <n>', 'tasks that it runs at a time (default: 4)', '4')
    .option('--set <name=value>', 'set a svc.* property of it (repeatable)', collect, [])
    .addHelpText(
      'after',
      `
Tasks that run there when it ends go on at other workers. Workers that come and go with the cluster:
  ./svc up --instances worker=2`,
    )
    .action(async (options: { home?: string; capacity: string; set: readonly string[] }) => {
      const capacity = parseWholeNumber('--capacity', options.capacity, 9999)
      const home = existingHome(options.home)
      const [{ startWorker }, { stopRequest }] = await Promise.all([
        import('../cluster/index.ts'),
        import('./stop-request.ts'),
      ])
      const { signal, requested } = stopRequest()
      const worker = await startWorker({
        home,
        capacity,
        set: options.set,
        signal,
        onEnd: ({ instance, reason, restartDelayMs }) => {
          if (restartDelayMs === undefined) return
          process.stdout.write(`${instance} ended (${reason}) and is started again\n`)
        },
      })
      process.stdout.write(
        `${worker.instance} runs tasks at ${worker.url}, ${capacity} at a time. Ctrl-C ends it.\n`,
      )
      await requested
      await worker.stop()
      process.stdout.write(`${worker.instance} has ended.\n`)
    })
}
