import { type ChildProcess, spawn } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir, totalmem } from 'node:os'
import path from 'node:path'
import { invalidInput, notFound } from '@svc/domain/failure'
import { bundleOf } from '../bundles/index.ts'
import { buildConsole } from '../console-build/index.ts'
import { repositoryRoot } from '../home/index.ts'
import { checkEngine } from './check-engine.ts'
import { checkJava } from './check-java.ts'
import { createPackage } from './create-package.ts'
import { outputOf } from './run-program.ts'
import { batchTests } from './shared-processes.ts'
import { startTestStores } from './test-stores.ts'

// Tests that measure delays. They run after the others, two at a time, because one of them mostly waits for timeouts.
const measuringTests: readonly string[] = ['test/hostile-requests.test.ts', 'test/hung-directory.test.ts']

// Tests that keep all processors busy with expensive requests. They run last, one at a time, so that they delay no others.
const busyTests: readonly string[] = ['test/hostile-bodies.test.ts', 'test/fair-queries.test.ts']

/** Whether a test may start clusters in copies of the prepared home. */
const startsCluster = (file: string): boolean => file.startsWith('test/')

/** Runs the tests whose path contains `pattern`, or all; returns the exit status. */
export async function runTests(
  pattern: string | undefined,
  concurrency: string | undefined,
): Promise<number> {
  if (concurrency !== undefined && !/^[1-9]\d?$/.test(concurrency)) {
    throw invalidInput(`Invalid value [${concurrency}] for [--concurrency]: expected a number from 1 to 99`)
  }
  // These need a browser, a container engine, Java, Kubernetes, the package registry, network namespaces and Prometheus, or the
  // default ports (pages), so they have separate commands.
  const files = findTests('{packages,services,cli,console,container,test}/**/*.test.ts', pattern, [
    'test/browser/**',
    'test/compose/**',
    'test/docs/pages.test.ts',
    'test/clients/**',
    'test/interop/**',
    'test/kubernetes/**',
    'test/package/**',
    'test/storage/**',
    'test/surroundings/**',
  ])

  // Ctrl-C also reaches the test runner: waits for it to exit, and then stops the stores.
  let isInterrupted = false
  process.on('SIGINT', () => {
    isInterrupted = true
  })
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-test-'))
  try {
    const { environment, stop } = await startTestStores(folder, files.some(startsCluster))
    try {
      const run = async (some: readonly string[], atOnce = concurrency) =>
        isInterrupted ? 1 : await runNodeTests(some, atOnce, environment)
      const together = files.filter((file) => ![...measuringTests, ...busyTests].includes(file))
      const measuring = files.filter((file) => measuringTests.includes(file))
      const busy = files.filter((file) => busyTests.includes(file))
      const statuses = [
        await runTogether(together, folder, run),
        await run(measuring, '2'),
        await run(busy, '1'),
      ]
      return Math.max(...statuses)
    } finally {
      await stop()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Builds the image and runs the container tests, two files at a time, because they mostly wait for containers; returns the
 * exit status. With `isUpdating`, writes the actual output into the pages whose commands are run.
 */
export async function runComposeTests(pattern: string | undefined, isUpdating: boolean): Promise<number> {
  const files = findTests('test/compose/**/*.test.ts', pattern)
  await checkEngine()
  process.on('SIGINT', () => undefined)
  const build = spawn('docker', ['compose', 'build'], { cwd: repositoryRoot, stdio: 'inherit' })
  const status = await statusOf(build)
  return status === 0 ? await runNodeTests(files, '2', updating(isUpdating)) : status
}

/**
 * Builds the console and runs its tests in Chromium and Firefox, two files at a time, because they also wait; returns the exit
 * status. With `isUpdating`, draws its screens into docs/console.
 */
export async function runBrowserTests(pattern: string | undefined, isUpdating: boolean): Promise<number> {
  await buildConsole()
  return await runNodeTests(findTests('test/browser/*.test.ts', pattern), '2', updating(isUpdating))
}

/** Creates the npm package and runs its tests, which install it from the registry; returns the exit status. */
export async function runPackageTests(): Promise<number> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-package-'))
  try {
    const environment = { SVC_PACKAGE: await createPackage(folder) }
    return await runNodeTests(findTests('test/package/*.test.ts', undefined), '1', environment)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs the tests of the Testcontainers modules, which need Docker, Java and Maven; returns the exit status. */
export async function runClientTests(): Promise<number> {
  await checkJava()
  return await runNodeTests(findTests('test/clients/*.test.ts', undefined), '1')
}

/** Runs the tests with Druid's Java client and web console, which need Java and Maven; returns the exit status. */
export async function runInteropTests(): Promise<number> {
  await checkJava()
  return await runNodeTests(findTests('test/interop/*.test.ts', undefined), '1')
}

/** Runs the tests with a real S3 server, which needs Java and Maven; returns the exit status. */
export async function runStorageTests(pattern: string | undefined): Promise<number> {
  await checkJava()
  return await runNodeTests(findTests('test/storage/*.test.ts', pattern), '1')
}

/** Runs the test of the manifests on the current Kubernetes cluster of kubectl; returns the exit status. */
export async function runKubernetesTests(): Promise<number> {
  await outputOf('kubectl', ['get', 'nodes'], 'No Kubernetes cluster is available')
  return await runNodeTests(findTests('test/kubernetes/*.test.ts', undefined), '1')
}

/**
 * Runs the tests of several machines and of Prometheus; returns the exit status. With `isUpdating`, writes the actual
 * output into the pages whose commands are run.
 */
export async function runSurroundingsTests(
  pattern: string | undefined,
  isUpdating: boolean,
): Promise<number> {
  return await runNodeTests(findTests('test/surroundings/*.test.ts', pattern), '1', updating(isUpdating))
}

/**
 * Runs the commands in the README and in the how-to pages whose name contains `pattern`, or all; returns the exit
 * status. With `isUpdating`, writes the actual output into the pages.
 */
export async function runDocsTests(pattern: string | undefined, isUpdating: boolean): Promise<number> {
  const environment = { SVC_DOCS_PAGE: pattern ?? '', ...updating(isUpdating) }
  return await runNodeTests(findTests('test/docs/pages.test.ts', undefined), '1', environment)
}

/** The environment variable that makes tests write the actual output into pages, and draw screens. */
function updating(isUpdating: boolean): Readonly<Record<string, string>> {
  return { SVC_DOCS_UPDATE: isUpdating ? '1' : '' }
}

/** Runs a program of this repository with its own options, such as that of `npm run test:faults`; returns the exit status. */
export async function runProgram(
  file: string,
  options: readonly string[],
  needsJava: boolean,
): Promise<number> {
  if (needsJava) await checkJava()
  process.on('SIGINT', () => undefined)
  const program = path.join(repositoryRoot, file)
  // In the user's working directory, because options may be relative paths.
  const env = { ...process.env, ...sourcesAndBuild() }
  return statusOf(spawn(process.execPath, [program, ...options], { env, stdio: 'inherit' }))
}

/** Runs files at the same time, most of those without clusters in few processes; returns the exit status. */
async function runTogether(
  files: readonly string[],
  folder: string,
  run: (files: readonly string[]) => Promise<number>,
): Promise<number> {
  const { batches, others } = batchTests(files, folder)
  // Those that take longest start first, so that all processors are busy until the end.
  const [long, short] = [others.filter(startsCluster), others.filter((file) => !startsCluster(file))]
  const status = await run([...long, ...batches.map(({ file }) => file), ...short])
  // After a crash, each file gets its own process, which shows the one that crashed.
  const crashed = batches.filter((batch) => !batch.isComplete()).flatMap(({ tests }) => tests)
  return (await run(crashed)) || status
}

function findTests(glob: string, pattern: string | undefined, exclude: readonly string[] = []): string[] {
  const files = globSync(glob, { cwd: repositoryRoot, exclude: ['**/node_modules/**', ...exclude] })
  const found = files.filter((file) => pattern === undefined || file.includes(pattern))
  if (found.length === 0) throw notFound(`Found no test file whose path contains [${pattern ?? '.test.ts'}]`)
  return found.sort()
}

async function runNodeTests(
  files: readonly string[],
  concurrency: string | undefined,
  environment: Readonly<Record<string, string>> = {},
): Promise<number> {
  if (files.length === 0) return 0
  const atOnce = concurrency ?? String(filesAtOnce(availableParallelism(), totalmem()))
  const limits = [`--test-concurrency=${atOnce}`, `--test-timeout=${maxFileMs}`]
  const args = ['--test', ...limits, '--test-reporter=spec', ...files]
  const child = spawn(process.execPath, args, {
    cwd: repositoryRoot,
    env: { ...process.env, ...sourcesAndBuild(), ...environment },
    stdio: 'inherit',
  })
  return statusOf(child)
}

/** Tests run the sources, whose compile cache outlives a build; what they start uses the build of this command. */
function sourcesAndBuild(): Readonly<Record<string, string>> {
  return {
    SVC_BUILD: path.dirname(bundleOf('svc')),
    NODE_COMPILE_CACHE: path.join(repositoryRoot, '.cache/compile'),
  }
}

/** A test that waits forever fails, with its name and the results of the other tests. */
const maxFileMs = 15 * 60_000

// A file may start a complete cluster, with its stores and tasks.
const memoryOfFileBytes = 3 * 1024 ** 3

/** The number of concurrent test files: two more than there are processors, because tests also wait; limited by memory. */
function filesAtOnce(processors: number, memoryBytes: number): number {
  return Math.max(2, Math.min(processors + 2, Math.floor(memoryBytes / memoryOfFileBytes)))
}

/** The exit status of a child. Passes on signals to it. */
async function statusOf(child: ChildProcess): Promise<number> {
  const signals = ['SIGTERM', 'SIGHUP'] as const
  const pass = (name: NodeJS.Signals) => child.kill(name)
  for (const name of signals) process.on(name, pass)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (status) => resolve(status ?? 1))
    })
  } finally {
    for (const name of signals) process.off(name, pass)
  }
}
