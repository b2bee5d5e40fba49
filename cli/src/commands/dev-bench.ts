import type { Command } from 'commander'
import { parsePositiveInteger } from '../options/index.ts'
import { printFigures, printProgress } from '../output/index.ts'

/** Adds `./svc dev bench` with one command for each benchmark. */
export function addBench(dev: Command): void {
  const bench = dev.command('bench').description('Run benchmarks (results: docs/benchmarks.md)')
  for (const add of [
    addStart,
    addTestClusters,
    addCoordinator,
    addPreviews,
    addCompaction,
    addRewriting,
    addCompactionTimes,
    addImport,
    addDurations,
    addExplanations,
    addSql,
    addRequests,
    addSecurity,
  ])
    add(bench)
}

function addStart(bench: Command): void {
  bench
    .command('start')
    .description(
      'Measure the startup time of a cluster and its memory use when idle (SVC_REFERENCE: folder of a Druid 37 installation to compare with)',
    )
    .option('--rounds <n>', 'Number of rounds', '5')
    .option('--profile <name>', 'Profile: secure (TLS and logins) or plain (neither)', 'secure')
    .option('--json', 'Print JSON')
    .action(async ({ rounds, profile, json }: { rounds: string; profile: string; json?: boolean }) => {
      const { benchStart } = await import('../development/index.ts')
      const options = { rounds: parseRounds(rounds), profile, reference: process.env.SVC_REFERENCE }
      const result = await benchStart(options, printProgress)
      printFigures(result, json)
    })
}

function addTestClusters(bench: Command): void {
  bench
    .command('test-clusters')
    .description('Start test clusters concurrently, check that they leave nothing behind, and measure resets')
    .option('--clusters <n>', 'Number of clusters to start concurrently', '20')
    .option('--rounds <n>', 'Number of resets', '40')
    .option('--json', 'Print JSON')
    .action(async ({ clusters, rounds, json }: { clusters: string; rounds: string; json?: boolean }) => {
      const { benchTestClusters } = await import('../development/index.ts')
      const count = parsePositiveInteger('--clusters', clusters, 99)
      printFigures(await benchTestClusters(count, parseRounds(rounds), printProgress), json)
    })
}

function addCoordinator(bench: Command): void {
  bench
    .command('coordinator')
    .description(
      'Measure coordinator runs over 100,000 and 1,000,000 segments (SVC_REFERENCE: folder of a Druid 37 installation to compare with)',
    )
    .option('--rounds <n>', 'Number of rounds', '5')
    .option('--json', 'Print JSON')
    .action(async ({ rounds, json }: { rounds: string; json?: boolean }) => {
      const { benchCoordinator } = await import('../development/index.ts')
      const count = parseRounds(rounds)
      const result = await benchCoordinator(count, process.env.SVC_REFERENCE, printProgress)
      printFigures(result, json)
    })
}

function addPreviews(bench: Command): void {
  bench
    .command('previews')
    .description('Measure the CPU time of previewing rule changes in the console')
    .option('--segments <n>', 'Number of segments', '1000000')
    .option('--datasources <n>', 'Number of datasources', '1')
    .option('--rounds <n>', 'Number of edits', '40')
    .option('--server-bytes <n>', 'Capacity of each server in bytes', '10000000000000')
    .option('--json', 'Print JSON')
    .action(
      async (options: {
        segments: string
        datasources: string
        rounds: string
        serverBytes: string
        json?: boolean
      }) => {
        const { benchPreviews } = await import('../development/index.ts')
        const result = benchPreviews(
          parsePositiveInteger('--segments', options.segments, 9_999_999),
          parsePositiveInteger('--datasources', options.datasources, 9_999_999),
          parseRounds(options.rounds),
          parsePositiveInteger('--server-bytes', options.serverBytes, Number.MAX_SAFE_INTEGER),
        )
        printFigures(result, options.json)
      },
    )
}

function addCompaction(bench: Command): void {
  bench
    .command('compaction')
    .description(
      'Measure the time to plan compaction (SVC_REFERENCE: folder of a Druid 37 installation to compare with)',
    )
    .option('--segments <n>', 'Number of segments', '1000000')
    .option('--datasources <n>', 'Number of datasources', '50')
    .option('--rounds <n>', 'Number of rounds', '5')
    .option('--json', 'Print JSON')
    .action(async (options: { segments: string; datasources: string; rounds: string; json?: boolean }) => {
      const { benchCompaction } = await import('../development/index.ts')
      const result = await benchCompaction(
        parsePositiveInteger('--segments', options.segments, 9_999_999),
        parsePositiveInteger('--datasources', options.datasources, 9_999_999),
        parseRounds(options.rounds),
        process.env.SVC_REFERENCE,
      )
      printFigures(result, options.json)
    })
}

function addRewriting(bench: Command): void {
  bench
    .command('rewriting')
    .description(
      'Measure how long it takes to rewrite daily segments into monthly segments, compared with plain DuckDB on the same files',
    )
    .option('--rows <n>', 'Number of rows, spread over 30 files', '2000000')
    .option('--rounds <n>', 'Number of rounds', '5')
    .option('--json', 'Print JSON')
    .action(async ({ rows, rounds, json }: { rows: string; rounds: string; json?: boolean }) => {
      const { benchRewriting } = await import('../development/index.ts')
      const result = await benchRewriting(
        parsePositiveInteger('--rows', rows, 1_000_000_000),
        parseRounds(rounds),
        printProgress,
      )
      printFigures(result, json)
    })
}

function addImport(bench: Command): void {
  bench
    .command('import')
    .description('Measure ./svc import of many segments: sorted, unsorted, and with invalid rows')
    .option('--segments <n>', 'Number of segments', '1000000')
    .option('--json', 'Print JSON')
    .action(async ({ segments, json }: { segments: string; json?: boolean }) => {
      const { benchImport } = await import('../development/index.ts')
      const count = parsePositiveInteger('--segments', segments, 9_999_999)
      printFigures(await benchImport(count, printProgress), json)
    })
}

function addDurations(bench: Command): void {
  bench
    .command('durations')
    .description(
      'Compare the load times that previews predict with measured load times, on virtual and real servers',
    )
    .option('--only <n>', 'Cluster to measure: 1 or 2 (virtual servers), or 3 (real servers) (default: all)')
    .option('--json', 'Print JSON')
    .action(async ({ only, json }: { only?: string; json?: boolean }) => {
      const { benchDurations } = await import('../development/index.ts')
      const cluster = only === undefined ? undefined : parsePositiveInteger('--only', only, 3)
      printFigures(await benchDurations(cluster, printProgress), json)
    })
}

function addCompactionTimes(bench: Command): void {
  bench
    .command('compaction-times')
    .description('Compare the times that compaction previews predict with measured times of real tasks')
    .option('--json', 'Print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const { benchCompactionTimes } = await import('../development/index.ts')
      printFigures(await benchCompactionTimes(printProgress), json)
    })
}

function addExplanations(bench: Command): void {
  bench
    .command('explanations')
    .description(
      'Measure how long it takes to explain a segment in a simulation, and how much this delays other requests',
    )
    .option('--servers <n>', 'Number of virtual historicals', '1000')
    .option('--segments <n>', 'Number of virtual segments', '1000000')
    .option('--requests <n>', 'Number of explanations', '2000')
    .option('--json', 'Print JSON')
    .action(async (options: { servers: string; segments: string; requests: string; json?: boolean }) => {
      const { benchExplanations } = await import('../development/index.ts')
      const size = {
        servers: parsePositiveInteger('--servers', options.servers, 10_000),
        segments: parsePositiveInteger('--segments', options.segments, 10_000_000),
        requests: parsePositiveInteger('--requests', options.requests, 100_000),
      }
      printFigures(await benchExplanations(size, printProgress), options.json)
    })
}

function addSql(bench: Command): void {
  bench
    .command('sql')
    .description('Measure SQL over many segments, compared with plain DuckDB on the same files')
    .option('--segments <n>', 'Number of segments with 1,000 rows each', '1000')
    .option('--rounds <n>', 'Number of rounds', '5')
    .option('--json', 'Print JSON')
    .action(async ({ segments, rounds, json }: { segments: string; rounds: string; json?: boolean }) => {
      const { benchSql } = await import('../development/index.ts')
      const result = await benchSql(
        parsePositiveInteger('--segments', segments, 99_999),
        parseRounds(rounds),
        printProgress,
      )
      printFigures(result, json)
    })
}

function addRequests(bench: Command): void {
  bench
    .command('requests')
    .description(
      'Measure requests per second, directly to the coordinator and through the router, with and without TLS (requires wrk; set SVC_REFERENCE_URLS to the URLs to compare with, separated by spaces and including user name and password)',
    )
    .option('--rounds <n>', 'Number of rounds', '3')
    .option('--seconds <n>', 'Seconds per measurement', '10')
    .option('--json', 'Print JSON')
    .action(async ({ rounds, seconds, json }: { rounds: string; seconds: string; json?: boolean }) => {
      const { benchRequests } = await import('../development/index.ts')
      const reference = (process.env.SVC_REFERENCE_URLS ?? '').split(' ').filter((url) => url !== '')
      const result = await benchRequests(
        parseRounds(rounds),
        parsePositiveInteger('--seconds', seconds, 99),
        reference,
        printProgress,
      )
      printFigures(result, json)
    })
}

function addSecurity(bench: Command): void {
  bench
    .command('security')
    .description(
      'Measure response times for rejected logins and hostile input, and authenticated requests per second (requires wrk; SVC_REFERENCE: folder of a Druid 37 installation to compare with)',
    )
    .option('--rounds <n>', 'Number of rounds', '3')
    .option('--seconds <n>', 'Seconds per measurement', '5')
    .option('--json', 'Print JSON')
    .action(async ({ rounds, seconds, json }: { rounds: string; seconds: string; json?: boolean }) => {
      const { benchSecurity } = await import('../development/index.ts')
      const options = {
        rounds: parseRounds(rounds),
        secondsEach: parsePositiveInteger('--seconds', seconds, 99),
        reference: process.env.SVC_REFERENCE,
      }
      printFigures(await benchSecurity(options, printProgress), json)
    })
}

function parseRounds(text: string): number {
  return parsePositiveInteger('--rounds', text, 99)
}
