import type { Command } from 'commander'
import { parseHome } from './home-option.ts'

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
    .description('show in half a minute how rules move real data between tiers, on a cluster of its own')
    .option(
      '--home <dir>',
      'an empty or new folder for its state, which is kept (default: a temporary one)',
      parseHome,
    )
    .option(
      '--port-offset <n>',
      'added to every port: 0, or 1000 and more (default: 0, or another one when a port is taken)',
    )
    .option('--keep', 'keep the temporary home afterwards')
    .addHelpText(
      'after',
      `
It starts a cluster with three tiers, ingests data/flights.csv to daily segments, sets rules step by step, shows where
the segments go, and stops everything. A cluster that runs already is not touched.

Examples:
  ./svc demo
  ./svc demo --port-offset 2000 --keep`,
    )
    .action(async (options: DemoCommandOptions) => {
      const [{ runDemo }, { stopRequest }, { tellStep }] = await Promise.all([
        import('../demo/index.ts'),
        import('./stop-request.ts'),
        import('./summary.ts'),
      ])
      const { signal } = stopRequest()
      await runDemo({
        ...options,
        signal,
        out: process.stdout,
        onStep: (step) => tellStep(process.stdout, step),
      })
    })
}
