import type { Command } from 'commander'
import { existingHome, withHome } from './home-option.ts'

/** Adds `./svc down`. */
export function addDown(program: Command): void {
  const command = program
    .command('down')
    .description('stop the cluster of a home, also one whose supervisor died')
  withHome(command).action(async (options: { home?: string }) => {
    const home = existingHome(options.home)
    const { endCluster } = await import('../cluster/index.ts')
    const ran = await endCluster(home)
    process.stdout.write(
      ran ? `Stopped the cluster of [${home.root}].\n` : `Nothing runs in [${home.root}].\n`,
    )
  })
}
