import type { Command } from 'commander'
import { existingHome, withHome } from './home-option.ts'

/** Adds `./svc down`. */
export function addDown(program: Command): void {
  const command = program.command('down').description('Stop a cluster, even if its supervisor is gone')
  withHome(command).action(async (options: { home?: string }) => {
    const home = existingHome(options.home)
    const { endCluster } = await import('../cluster/index.ts')
    const ran = await endCluster(home)
    process.stdout.write(
      ran ? `Stopped the cluster of [${home.root}].\n` : `Nothing is running in [${home.root}].\n`,
    )
  })
}
