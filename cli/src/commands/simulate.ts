import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { parseHome, parsePositiveInteger } from '../options/index.ts'
import { printFigures } from '../output/index.ts'

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
    .description('Run a cluster of virtual servers, and measure how it loads virtual segments')
    .option('--servers <n>', 'Number of virtual historicals, all in one process', '1000')
    .option('--segments <n>', 'Number of virtual segments', '1000000')
    .option('--datasources <n>', 'Number of datasources', '50')
    .option('--load-bytes-per-second <size>', 'Load rate of each server', '20GiB')
    .option('--failure-probability <n>', 'Fraction of loads that fail, at least 0 and less than 1', '0')
    .option(
      '--home <dir>',
      "New folder for the cluster's state; ./svc up --home can start the cluster again (default: a temporary folder)",
      parseHome,
    )
    .option(
      '--port-offset <n>',
      'Offset added to every port (0, or at least 1000; default: one with free ports)',
    )
    .option(
      '--kill-leader',
      'Run two coordinators, kill the leader once all segments are loaded, keep it down, and report how the other one takes over',
    )
    .option('--json', 'Print JSON')
    .action(async (options: SimulateCommandOptions) => {
      const [{ runSimulation }, { stopRequest }] = await Promise.all([
        import('../simulate/index.ts'),
        import('../exit/index.ts'),
      ])
      const { signal } = stopRequest()
      const figures = await runSimulation({
        servers: parsePositiveInteger('--servers', options.servers, 10_000),
        segments: parsePositiveInteger('--segments', options.segments, 10_000_000),
        datasources: parsePositiveInteger('--datasources', options.datasources, 10_000),
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
      `Invalid value [${text}] for [--failure-probability]: expected 0 or a positive number less than 1`,
    )
  return probability
}
