// The Testcontainers modules for Java and Node.js start the image with a complete cluster.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { repositoryRoot } from '@svc/cli/home'
import { newTestFolder } from '../support/test-folder.ts'

const run = promisify(execFile)
const image = 'svc-clients-test'
const timeout = 600_000
// The cleaner of Testcontainers is an image of its own, which may not be available. These tests remove their containers.
const env: NodeJS.ProcessEnv = {
  ...process.env,
  SVC_IMAGE: image,
  TESTCONTAINERS_RYUK_DISABLED: 'true',
  // The Node.js on PATH may be older than what the module requires.
  PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}`,
}
// Otherwise, the test runner that these tests start would report to the one that runs them.
delete env.NODE_TEST_CONTEXT

before(async () => {
  await run('docker', ['build', '--quiet', '--tag', image, repositoryRoot], { timeout })
})

after(async () => {
  await run('docker', ['image', 'rm', '--force', image], { timeout })
})

test('the module for Java', async () => {
  const project = path.join(repositoryRoot, 'clients/java/pom.xml')
  const { stdout } = await runOrReport('mvn', ['-B', '-f', project, `-Dsvc.image=${image}`, 'test'])
  assert.match(stdout, /Tests run: 6, Failures: 0, Errors: 0, Skipped: 0/)
})

test('the module for Node.js', async () => {
  const cwd = newTestFolder()
  cpSync(path.join(repositoryRoot, 'clients/node'), cwd, {
    recursive: true,
    filter: (file) => !/node_modules|\/dist$/.test(file.slice(repositoryRoot.length)),
  })
  await runOrReport('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], cwd)
  await runOrReport('npm', ['run', 'build'], cwd)
  const { stdout } = await runOrReport('npm', ['test'], cwd)
  assert.match(stdout, /^ℹ fail 0$/m)
  assert.match(stdout, /^ℹ pass 6$/m)
})

/** Runs a command; returns its output. Throws an Error with the end of the output if it fails. */
async function runOrReport(file: string, args: readonly string[], cwd = repositoryRoot) {
  return await run(file, args, { cwd, env, timeout, maxBuffer: 2 ** 26 }).catch(
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`${file} ${args.join(' ')}:\n${error.stdout.slice(-5000)}${error.stderr.slice(-2000)}`)
    },
  )
}
