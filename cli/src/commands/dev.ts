import type { Command } from 'commander'
import { addWriting } from './dev-writing.ts'
import { parseHome } from './home-option.ts'
import { printFigures, printProgress } from './print.ts'
import { parseWholeNumber } from './whole-number.ts'

/** Adds `./svc dev` with its commands for those who work on the source. */
export function addDev(program: Command): void {
  const dev = program.command('dev').description('for those who work on the source')
  dev
    .command('watch')
    .description('run a cluster whose services start again when their source changes')
    .option('--home <dir>', 'Folder with all state of the cluster (default: .svc next to ./svc)', parseHome)
    .option('--port-offset <n>', 'Offset added to every port: 0, or at least 1000 (default: 0)')
    .option('--profile <name>', 'secure or plain (default: secure)')
    .action(async (options: { home?: string; portOffset?: string; profile?: string }) => {
      const [{ runInForeground }, { defaultHome }] = await Promise.all([
        import('./up-foreground.ts'),
        import('../home/index.ts'),
      ])
      await runInForeground({ ...options, home: options.home ?? defaultHome, watch: true })
    })
  dev
    .command('check')
    .description('check types, lint and format, dead code, the direction of dependencies and the wording')
    .action(async () => {
      const { runChecks } = await import('../development/index.ts')
      process.exitCode = (await runChecks()) ? 0 : 1
    })
  dev
    .command('docs')
    .description('write the documents that are made from the source')
    .action(async () => {
      const { writeDocuments } = await import('../development/index.ts')
      for (const file of await writeDocuments()) process.stdout.write(`Wrote ${file}\n`)
    })
  addWriting(dev)
  const bench = dev.command('bench').description('measure; docs/benchmarks.md has the figures')
  bench
    .command('start')
    .description('time from the command to ready, and memory at rest')
    .option('--rounds <n>', 'how often', '5')
    .option('--profile <name>', 'secure or plain', 'secure')
    .option('--json', 'Print JSON')
    .action(async ({ rounds, profile, json }: { rounds: string; profile: string; json?: boolean }) => {
      const { benchStart } = await import('../development/index.ts')
      const result = await benchStart(parseRounds(rounds), profile, printProgress)
      printFigures(result, json)
    })
  bench
    .command('coordinator')
    .description(
      'runs over 100,000 and 1,000,000 segments; SVC_REFERENCE names a folder of the recorded system',
    )
    .option('--rounds <n>', 'how often', '5')
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
      'time to decide what is to be compacted; SVC_REFERENCE names a folder of the recorded system, which does the same',
    )
    .option('--segments <n>', 'how many segments', '1000000')
    .option('--datasources <n>', 'in how many datasources', '50')
    .option('--rounds <n>', 'how often', '5')
    .option('--json', 'Print JSON')
    .action(async (options: { segments: string; datasources: string; rounds: string; json?: boolean }) => {
      const { benchCompaction } = await import('../development/index.ts')
      const result = await benchCompaction(
        parseWholeNumber('--segments', options.segments, 9_999_999),
        parseWholeNumber('--datasources', options.datasources, 9_999_999),
        parseRounds(options.rounds),
        process.env.SVC_REFERENCE,
      )
      printFigures(result, options.json)
    })
  bench
    .command('rewriting')
    .description('rewriting of daily segments into a month, beside DuckDB alone on the same files')
    .option('--rows <n>', 'how many rows in 30 files', '2000000')
    .option('--rounds <n>', 'how often', '5')
    .option('--json', 'Print JSON')
    .action(async ({ rows, rounds, json }: { rows: string; rounds: string; json?: boolean }) => {
      const { benchRewriting } = await import('../development/index.ts')
      const result = await benchRewriting(
        parseWholeNumber('--rows', rows, 1_000_000_000),
        parseRounds(rounds),
        printProgress,
      )
      printFigures(result, json)
    })
  bench
    .command('import')
    .description('./svc import of many segments: in order, in no order, and with rows that cannot be read')
    .option('--segments <n>', 'how many segments', '1000000')
    .option('--json', 'Print JSON')
    .action(async ({ segments, json }: { segments: string; json?: boolean }) => {
      const { benchImport } = await import('../development/index.ts')
      const count = parseWholeNumber('--segments', segments, 9_999_999)
      printFigures(await benchImport(count, printProgress), json)
    })
  bench
    .command('sql')
    .description('SQL over many segments, beside DuckDB alone on the same files')
    .option('--segments <n>', 'how many segments of 1000 rows', '1000')
    .option('--rounds <n>', 'how often', '5')
    .option('--json', 'Print JSON')
    .action(async ({ segments, rounds, json }: { segments: string; rounds: string; json?: boolean }) => {
      const { benchSql } = await import('../development/index.ts')
      const result = await benchSql(
        parseWholeNumber('--segments', segments, 99_999),
        parseRounds(rounds),
        printProgress,
      )
      printFigures(result, json)
    })
  bench
    .command('requests')
    .description(
      'requests a second at the coordinator and through the router, plain and over TLS (needs wrk); SVC_REFERENCE_URLS names further URLs, with name and password, separated by blanks',
    )
    .option('--rounds <n>', 'how often', '3')
    .option('--seconds <n>', 'how long each', '10')
    .option('--json', 'Print JSON')
    .action(async ({ rounds, seconds, json }: { rounds: string; seconds: string; json?: boolean }) => {
      const { benchRequests } = await import('../development/index.ts')
      const reference = (process.env.SVC_REFERENCE_URLS ?? '').split(' ').filter((url) => url !== '')
      const result = await benchRequests(
        parseRounds(rounds),
        parseWholeNumber('--seconds', seconds, 99),
        reference,
        printProgress,
      )
      printFigures(result, json)
    })
  bench
    .command('security')
    .description(
      'refused logins, hostile inputs, requests a second with a login (needs wrk); SVC_REFERENCE names a folder of the recorded system, which is asked in the same rounds',
    )
    .option('--rounds <n>', 'how often the requests', '3')
    .option('--seconds <n>', 'how long each', '5')
    .option('--json', 'Print JSON')
    .action(async ({ rounds, seconds, json }: { rounds: string; seconds: string; json?: boolean }) => {
      const { benchSecurity } = await import('../development/index.ts')
      const options = {
        rounds: parseRounds(rounds),
        secondsEach: parseWholeNumber('--seconds', seconds, 99),
        reference: process.env.SVC_REFERENCE,
      }
      printFigures(await benchSecurity(options, printProgress), json)
    })
  addFaults(dev)
  addHostile(dev)
  dev
    .command('test')
    .argument('[pattern]', 'only files whose path holds this text')
    .description('run the tests')
    .option('--concurrency <n>', 'files that run at once (default: by the number of processors)')
    .option('--docs', 'only the commands of README and the how-to pages, whose output is compared')
    .option('--update', 'write the actual output into the pages whose commands are run')
    .option('--compose', 'only the tests of docker-compose.yml, which need an engine')
    .option(
      '--interop',
      'only the tests of clients and of a console of another make, which need Java, Maven and Chromium',
    )
    .option(
      '--kubernetes',
      'only the test of deploy/kubernetes, which needs a Kubernetes of this machine alone',
    )
    .option(
      '--surroundings',
      'only the tests of several machines and of Prometheus, which need root on Debian',
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

/** Adds `./svc dev faults`, whose own program reads the options. */
function addFaults(dev: Command): void {
  dev
    .command('faults')
    .description('run seeds of faults against whole clusters; --help tells the options')
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
  return parseWholeNumber('--rounds', text, 99)
}
