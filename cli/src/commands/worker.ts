import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { existingHome, withHome } from './home-option.ts'

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
      if (!/^[1-9]\d{0,3}$/.test(options.capacity)) {
        throw invalidInput(
          `Option --capacity has value [${options.capacity}], allowed are numbers from 1 to 9999`,
        )
      }
      const home = existingHome(options.home)
      const [{ startWorker }, { stopRequest }] = await Promise.all([
        import('../cluster/index.ts'),
        import('./stop-request.ts'),
      ])
      const { signal, requested } = stopRequest()
      const worker = await startWorker({
        home,
        capacity: Number(options.capacity),
        set: options.set,
        signal,
        onEnd: ({ instance, reason, restartDelayMs }) => {
          if (restartDelayMs === undefined) return
          process.stdout.write(`${instance} ended (${reason}) and is started again\n`)
        },
      })
      process.stdout.write(
        `${worker.instance} runs tasks at ${worker.url}, ${options.capacity} at a time. Ctrl-C ends it.\n`,
      )
      await requested
      await worker.stop()
      process.stdout.write(`${worker.instance} has ended.\n`)
    })
}

function collect(value: string, before: readonly string[]): string[] {
  return [...before, value]
}
