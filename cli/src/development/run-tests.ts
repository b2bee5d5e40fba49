import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { invalidInput, notFound } from '@svc/domain/failure'
import { commonPropertiesFile, pickPortOffset, startCluster } from '../cluster/index.ts'
import { repositoryRoot } from '../home/index.ts'

/**
 * Runs the tests whose path holds `pattern`, or all; returns the exit status. A Postgres and a Redis run meanwhile:
 * the environment variable SVC_TEST_STORES names a properties file that says where.
 */
export async function runTests(
  pattern: string | undefined,
  concurrency: string | undefined,
): Promise<number> {
  if (concurrency !== undefined && !/^[1-9]\d?$/.test(concurrency)) {
    throw invalidInput(`Option --concurrency has value [${concurrency}], allowed are numbers from 1 to 99`)
  }
  const files = globSync('{packages,services,cli,container,test}/**/*.test.ts', {
    cwd: repositoryRoot,
    exclude: ['**/node_modules/**'],
  }).filter((file) => pattern === undefined || file.includes(pattern))
  if (files.length === 0) throw notFound(`No test file has [${pattern ?? '.test.ts'}] in its path`)

  // Ctrl-C reaches the test runner too; we wait for it and then stop the stores.
  process.on('SIGINT', () => undefined)
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-test-stores-'))
  try {
    const stores = await startCluster({
      home: folder,
      portOffset: await pickPortOffset(),
      profile: 'plain',
      storesOnly: true,
    })
    try {
      return await runNodeTests(files.sort(), concurrency, commonPropertiesFile(stores.home))
    } finally {
      await stores.stop()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runNodeTests(
  files: readonly string[],
  concurrency: string | undefined,
  storesFile: string,
): Promise<number> {
  // Some files start whole clusters, so there are not more at once than the machine can carry.
  const atOnce = concurrency ?? String(Math.max(2, Math.floor(availableParallelism() / 2)))
  const args = ['--test', `--test-concurrency=${atOnce}`, '--test-reporter=spec', ...files]
  const child = spawn(process.execPath, args, {
    cwd: repositoryRoot,
    env: { ...process.env, SVC_TEST_STORES: storesFile },
    stdio: 'inherit',
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (status) => resolve(status ?? 1))
  })
}
