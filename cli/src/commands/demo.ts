import type { Command } from 'commander'
import { parseHome } from '../options/index.ts'

/** The options of `./svc demo` as commander reads them. */
interface DemoCommandOptions {
  readonly home?: string
  readonly portOffset?: string
  readonly keep?: boolean
}

/** Adds `./svc demo`. */
export function addDemo(program: Command): void {
  program
    .command('demo')
    .description(
      'Show how rules move real data between the tiers of a temporary cluster (takes about 15 seconds)',
    )
    .option(
      '--home <dir>',
      "New or empty folder for the cluster's state (default: a temporary folder)",
      parseHome,
    )
    .option(
      '--port-offset <n>',
      'Offset added to every port (0, or at least 1000; default: 0, or another offset if a port is in use)',
    )
    .option('--keep', 'Keep the temporary home afterward')
    .addHelpText(
      'after',
      `
Starts a cluster with three tiers, ingests sample data from the last 90 days into daily segments, sets rules step by
step, shows where the segments go, and stops everything. A cluster that is already running is not affected.

Examples:
  ./svc demo
  ./svc demo --port-offset 2000 --keep`,
    )
    .action(async (options: DemoCommandOptions) => {
      const [{ runDemo }, { stopRequest }, { printStep }] = await Promise.all([
        import('../demo/index.ts'),
        import('../exit/index.ts'),
        import('./up-summary.ts'),
      ])
      const { signal } = stopRequest()
      await runDemo({
        ...options,
        signal,
        out: process.stdout,
        onStep: (step) => printStep(process.stdout, step),
      })
    })
}
