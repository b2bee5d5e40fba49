import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { parseHome } from './home-option.ts'
import { printFigures } from './print.ts'
import { parseWholeNumber } from './whole-number.ts'

/** The options of `./svc simulate` as commander reads them. */
interface SimulateCommandOptions {
  readonly servers: string
  readonly segments: string
  readonly datasources: string
  readonly loadBytesPerSecond: string
  readonly failureProbability: string
  readonly home?: string
  readonly portOffset?: string
  readonly killLeader?: boolean
  readonly json?: boolean
}

/** Adds `./svc simulate`. */
export function addSimulate(program: Command): void {
  program
    .command('simulate')
    .description('run a cluster of virtual servers and segments and show how it loads them')
    .option('--servers <n>', 'virtual historicals, all in one process', '1000')
    .option('--segments <n>', 'virtual segments', '1000000')
    .option('--datasources <n>', 'datasources that they belong to', '50')
    .option('--load-bytes-per-second <size>', 'how fast each server loads', '20GiB')
    .option('--failure-probability <part>', 'the part of loads that fail, from 0 to 1', '0')
    .option(
      '--home <dir>',
      'a new folder for its state, which is kept and can be started by `./svc up` (default: a temporary one)',
      parseHome,
    )
    .option('--port-offset <n>', 'added to every port (default: one with free ports)')
    .option(
      '--kill-leader',
      'kill the leading one of two coordinators at the end, and tell how another takes over',
    )
    .option('--json', 'print the figures as JSON')
    .action(async (options: SimulateCommandOptions) => {
      const [{ runSimulation }, { stopRequest }] = await Promise.all([
        import('../simulate/index.ts'),
        import('./stop-request.ts'),
      ])
      const { signal } = stopRequest()
      const figures = await runSimulation({
        servers: parseWholeNumber('--servers', options.servers, 10_000),
        segments: parseWholeNumber('--segments', options.segments, 10_000_000),
        datasources: parseWholeNumber('--datasources', options.datasources, 10_000),
        loadBytesPerSecond: options.loadBytesPerSecond,
        failureProbability: parseProbability(options.failureProbability),
        home: options.home,
        portOffset: options.portOffset,
        killLeader: options.killLeader === true,
        signal,
        out: options.json ? process.stderr : process.stdout,
      })
      printFigures(figures, options.json)
    })
}

function parseProbability(text: string): number {
  const probability = Number(text)
  if (text.trim() === '' || !(probability >= 0 && probability < 1))
    throw invalidInput(
      `Option --failure-probability has value [${text}], allowed are numbers from 0 to below 1`,
    )
  return probability
}
