import type { Command } from 'commander'
import { existingHome, selectAnother, withHome } from '../options/index.ts'

/** Adds `./svc down`. */
export function addDown(program: Command): void {
  const command = program.command('down').description('Stop a cluster, even if its supervisor is gone')
  withHome(command).action(async (options: { home?: string }) => {
    const home = existingHome(options.home, selectAnother)
    const { endCluster } = await import('../cluster/index.ts')
    const wasRunning = await endCluster(home)
    process.stdout.write(
      wasRunning ? `Stopped the cluster in [${home.root}].\n` : `No cluster is running in [${home.root}].\n`,
    )
  })
}
