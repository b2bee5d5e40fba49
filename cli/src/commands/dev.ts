import type { Command } from 'commander'
import { addWriting } from './dev-writing.ts'
import { exitStatus } from './exit-status.ts'
import { parseHome } from './home-option.ts'
import { parsePositiveInteger } from './positive-integer.ts'
import { printFigures, printProgress } from './print.ts'

/** Adds `./svc dev` with its commands for developers of svc. */
export function addDev(program: Command): void {
  const dev = program.command('dev').description('Commands for developing svc')
  dev
    .command('watch')
    .description('Run a cluster whose services restart when their source changes')
    .option('--home <dir>', 'Folder with all state of the cluster (default: .svc next to ./svc)', parseHome)
    .option('--port-offset <n>', 'Offset added to every port: 0, or at least 1000 (default: 0)')
    .option('--profile <name>', 'Profile: secure (TLS and logins) or plain (neither) (default: secure)')
    .action(async (options: { home?: string; portOffset?: string; profile?: string }) => {
      const [{ runInForeground }, { defaultHome }] = await Promise.all([
        import('./up-foreground.ts'),
        import('../home/index.ts'),
      ])
      await runInForeground({ ...options, home: options.home ?? defaultHome, watch: true })
    })
  dev
    .command('check')
    .description('Check types, lint, format, dead code, dependency directions, and wording')
    .action(async () => {
      const { runChecks } = await import('../development/index.ts')
      process.exitCode = (await runChecks()) ? exitStatus.done : exitStatus.failed
    })
  dev
    .command('docs')
    .description('Regenerate the documents that are generated from the source')
    .action(async () => {
      const { writeDocuments } = await import('../development/index.ts')
      for (const file of await writeDocuments()) process.stdout.write(`Wrote ${file}\n`)
    })
  addWriting(dev)
  const bench = dev.command('bench').description('Run benchmarks (results: docs/benchmarks.md)')
  bench
    .command('start')
    .description('Measure the time from the command until ready, and the memory of an idle cluster')
    .option('--rounds <n>', 'Number of rounds', '5')
    .option('--profile <name>', 'Profile: secure (TLS and logins) or plain (neither)', 'secure')
    .option('--json', 'Print JSON')
    .action(async ({ rounds, profile, json }: { rounds: string; profile: string; json?: boolean }) => {
      const { benchStart } = await import('../development/index.ts')
      const result = await benchStart(parseRounds(rounds), profile, printProgress)
      printFigures(result, json)
    })
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
  bench
    .command('rewriting')
    .description(
      'Measure rewriting daily segments into a month, compared with plain DuckDB on the same files',
    )
    .option('--rows <n>', 'Number of rows, in 30 files', '2000000')
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
  bench
    .command('sql')
    .description('Measure SQL over many segments, compared with plain DuckDB on the same files')
    .option('--segments <n>', 'Number of segments, 1000 rows each', '1000')
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
  bench
    .command('requests')
    .description(
      'Measure requests per second at the coordinator and through the router, plain and over TLS (needs wrk; SVC_REFERENCE_URLS: space-separated URLs with name and password to compare with)',
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
  bench
    .command('security')
    .description(
      'Measure rejected logins, hostile input, and authenticated requests per second (needs wrk; SVC_REFERENCE: folder of a Druid 37 installation to compare with)',
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
  addFaults(dev)
  addHostile(dev)
  dev
    .command('test')
    .argument('[pattern]', 'Run only test files whose path contains this text')
    .description('Run the tests')
    .option(
      '--concurrency <n>',
      'Number of test files to run concurrently (default: depends on processors and memory)',
    )
    .option('--docs', 'Run only the commands in the README and the how-to pages, and compare their output')
    .option('--update', 'Write the actual output into the pages whose commands are run')
    .option('--compose', 'Run only the tests of docker-compose.yml (need Docker)')
    .option(
      '--interop',
      "Run only the tests with Druid's Java client and web console (need Java, Maven, and Chromium)",
    )
    .option(
      '--kubernetes',
      'Run only the test of deploy/kubernetes (needs a single-node Kubernetes on this machine)',
    )
    .option(
      '--surroundings',
      'Run only the tests of several machines and of Prometheus (need Debian and root)',
    )
    .action(
      async (
        pattern: string | undefined,
        options: {
          concurrency?: string
          docs?: true
          update?: true
          compose?: true
          interop?: true
          kubernetes?: true
          surroundings?: true
        },
      ) => {
        const {
          runComposeTests,
          runDocsTests,
          runInteropTests,
          runKubernetesTests,
          runSurroundingsTests,
          runTests,
        } = await import('../development/index.ts')
        const isUpdating = options.update === true
        if (options.docs) process.exitCode = await runDocsTests(pattern, isUpdating)
        else if (options.compose) process.exitCode = await runComposeTests(pattern, isUpdating)
        else if (options.interop) process.exitCode = await runInteropTests()
        else if (options.kubernetes) process.exitCode = await runKubernetesTests()
        else if (options.surroundings) process.exitCode = await runSurroundingsTests(pattern, isUpdating)
        else process.exitCode = await runTests(pattern, options.concurrency)
      },
    )
}

/** Adds `./svc dev faults`, whose options are parsed by its own program. */
function addFaults(dev: Command): void {
  dev
    .command('faults')
    .description('Run random faults against entire clusters, by seed (--help lists the options)')
    .argument('[options...]')
    .helpOption(false)
    .allowUnknownOption()
    .action(async (options: readonly string[]) => {
      const { runFaults } = await import('../development/index.ts')
      process.exitCode = await runFaults(options)
    })
}

/** Adds `./svc dev hostile`, whose own program reads the options. */
function addHostile(dev: Command): void {
  dev
    .command('hostile')
    .description('Send all hostile requests to a cluster; --help lists the options')
    .argument('[options...]')
    .helpOption(false)
    .allowUnknownOption()
    .action(async (options: readonly string[]) => {
      const { runHostile } = await import('../development/index.ts')
      process.exitCode = await runHostile(options)
    })
}

function parseRounds(text: string): number {
  return parsePositiveInteger('--rounds', text, 99)
}
