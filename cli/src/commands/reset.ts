import { conflict, invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { exitStatus } from '../exit/index.ts'
import {
  defaultHome,
  deleteHome,
  forgetFailedImport,
  homeArgument,
  homeLayout,
  isHome,
} from '../home/index.ts'
import { existingHome, selectAnother, withHome } from '../options/index.ts'

/** Adds `./svc reset`. */
export function addReset(program: Command): void {
  const command = program
    .command('reset')
    .description('Delete all state of a cluster: data, users, certificates, logs')
  withHome(command)
    .option('--yes', 'Skip the confirmation')
    .action(async (options: { home?: string; yes?: boolean }) => {
      const layout = homeLayout(options.home ?? defaultHome)
      if (!isHome(layout) && forgetFailedImport(layout)) {
        process.stdout.write(`Deleted the record of a failed import into [${layout.root}].\n`)
        return
      }
      const home = existingHome(options.home, selectAnother)
      const { isAnythingRunning } = await import('../cluster/index.ts')
      if (isAnythingRunning(home)) {
        throw conflict(
          `The cluster in [${home.root}] is running. Stop it first with ./svc down${homeArgument(home.root)}.`,
        )
      }
      if (!options.yes && !(await mayDelete(home.root))) {
        process.stdout.write('Nothing was deleted.\n')
        process.exitCode = exitStatus.failed
        return
      }
      deleteHome(home)
      process.stdout.write(`Deleted all state in [${home.root}].\n`)
    })
}

async function mayDelete(root: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw invalidInput('Cannot ask for confirmation without a terminal: add --yes')
  const { isConfirmed } = await import('../terminal/index.ts')
  return await isConfirmed(`Delete all data, users, certificates, and logs in [${root}]?`)
}
