import type { Command } from 'commander'

interface TestOptions {
  readonly concurrency?: string
  readonly docs?: true
  readonly update?: true
  readonly browser?: true
  readonly clients?: true
  readonly compose?: true
  readonly interop?: true
  readonly kubernetes?: true
  readonly package?: true
  readonly storage?: true
  readonly surroundings?: true
}

/** Adds `./svc dev test`. */
export function addTest(dev: Command): void {
  dev
    .command('test')
    .argument('[pattern]', 'Run only test files whose path contains this text')
    .description('Run the tests')
    .option(
      '--concurrency <n>',
      'Number of test files to run concurrently (default: depends on processors and memory)',
    )
    .option('--docs', 'Run only the commands in the README and the how-to pages, and compare their output')
    .option('--update', 'Write the actual output into the tested pages, and update the console screenshots')
    .option('--browser', 'Run only the console tests (requires Chromium)')
    .option(
      '--clients',
      'Run only the tests of the Testcontainers modules (requires Docker 25 or newer, Java, and Maven)',
    )
    .option('--compose', 'Run only the docker-compose.yml tests (requires Docker)')
    .option(
      '--interop',
      "Run only the tests with Druid's Java client and web console (requires Java, Maven, and Chromium)",
    )
    .option(
      '--kubernetes',
      'Run only the deploy/kubernetes test (requires a single-node Kubernetes cluster on this machine)',
    )
    .option('--package', 'Run only the npm package tests (requires the package registry)')
    .option('--storage', 'Run only the tests with a real S3 server (requires Java and Maven)')
    .option(
      '--surroundings',
      'Run only the tests with several machines, Prometheus, or Druid configurations (requires Debian and root)',
    )
    .action(async (pattern: string | undefined, options: TestOptions) => {
      process.exitCode = await runSuite(pattern, options)
    })
}

async function runSuite(pattern: string | undefined, options: TestOptions): Promise<number> {
  const development = await import('../development/index.ts')
  const isUpdating = options.update === true
  if (options.docs) return await development.runDocsTests(pattern, isUpdating)
  if (options.browser) return await development.runBrowserTests(pattern, isUpdating)
  if (options.clients) return await development.runClientTests()
  if (options.compose) return await development.runComposeTests(pattern, isUpdating)
  if (options.interop) return await development.runInteropTests()
  if (options.kubernetes) return await development.runKubernetesTests()
  if (options.package) return await development.runPackageTests()
  if (options.storage) return await development.runStorageTests(pattern)
  if (options.surroundings) return await development.runSurroundingsTests(pattern, isUpdating)
  return await development.runTests(pattern, options.concurrency)
}
