import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { bundleOf } from '../bundles/index.ts'
import { connectToCluster } from '../client/index.ts'
import { type Cluster, pickPortOffset, startCluster } from '../cluster/index.ts'
import { homeLayout, readRunFile, repositoryRoot, secretFile } from '../home/index.ts'
import { isRunning, type ProcessIdentity } from '../processes/index.ts'
import { demoHistoricals } from './steps.ts'

const flightsFile = path.join(repositoryRoot, 'data/flights.csv')
const folder = mkdtempSync(path.join(tmpdir(), 'svc-demo-test-'))
after(() => rmSync(folder, { recursive: true, force: true }))

interface Run {
  readonly child: ChildProcess
  /** Resolves when standard output contains the text. */
  until(text: string): Promise<void>
  outcome(): Promise<{ status: number | null; stdout: string; stderr: string }>
}

function run(args: readonly string[], options: { stdin?: string; env?: NodeJS.ProcessEnv } = {}): Run {
  const child = spawn(process.execPath, [bundleOf('svc'), ...args], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  })
  child.stdin!.end(options.stdin ?? '')
  let stdout = ''
  let stderr = ''
  child.stdout!.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr!.on('data', (chunk) => {
    stderr += chunk
  })
  const closed = once(child, 'close')
  return {
    child,
    until: async (text) => {
      while (!stdout.includes(text)) {
        const next = await Promise.race([once(child.stdout!, 'data'), closed])
        if (child.exitCode !== null && !stdout.includes(text)) {
          throw new Error(`exited with [${next}] before [${text}]: ${stdout}${stderr}`)
        }
      }
    },
    outcome: async () => {
      const [status] = await closed
      return { status, stdout, stderr }
    },
  }
}

const svc = (args: readonly string[], stdin?: string) =>
  run(args, stdin === undefined ? {} : { stdin }).outcome()

describe('ingestion and rules in a running cluster', () => {
  let cluster: Cluster
  let home: readonly string[]
  const file = path.join(folder, 'copy.csv')
  const ingest = (...more: string[]) => ['ingest', file, ...home, '--datasource', 'flights', ...more]
  const inputs = () => readdirSync(cluster.home.input)

  before(async () => {
    cpSync(flightsFile, file)
    cluster = await startCluster({
      home: path.join(folder, 'ingest'),
      portOffset: await pickPortOffset(),
      set: ['svc.coordinator.period=PT1S'],
    })
    home = ['--home', cluster.home.root]
  })
  after(() => cluster.stop())

  test('ingests and loads a file from any folder', async () => {
    const { status, stdout, stderr } = await svc(ingest('--timestamp', 'time', '--wait-loaded', '--json'))
    assert.equal(status, 0, stderr)
    assert.match(stderr, /Copying the file\n/)
    const { dataSource, isLoaded } = JSON.parse(stdout)
    assert.deepEqual([dataSource, isLoaded], ['flights', true])
    assert.deepEqual(inputs(), [])
    const client = connectToCluster(cluster.home)
    assert.deepEqual(await client.send('GET', '/svc/coordinator/v1/loadstatus'), { flights: 100 })
  })

  test('reports why a task failed and how to show its log', async () => {
    const { status, stdout, stderr } = await svc(ingest('--timestamp', 'hour'))
    assert.equal(status, 2)
    assert.match(stdout, /^Task index_parallel_flights_/m)
    assert.match(
      stderr,
      /^svc: Task \[.*\] failed: .*\[hour\].*input columns \[time, delay.*To show its log, run \.\/svc logs --home .* --task index_parallel_flights_.*\n$/,
    )
    assert.deepEqual(inputs(), [])
  })

  test('reports the message with which the overlord rejects a task', async () => {
    const args = ['ingest', file, ...home, '--datasource', 'a/b', '--timestamp', 'time']
    const { status, stderr } = await svc(args)
    assert.equal(status, 2)
    assert.match(stderr, /^svc: (?=.*--datasource)(?=.*\[a\/b\]).* \(POST \/svc\/indexer\/v1\/task\)\n$/)
    assert.deepEqual(inputs(), [])
  })

  test('sets rules from standard input, shows them, and records them in the history', async () => {
    const rules = '[{"type":"loadByPeriod","period":"P1M"},{"type":"dropForever"}]'
    const audit = ['--author', 'me', '--comment', 'a month is enough']
    const set = await svc(
      ['rules', 'set', '-', ...home, '--datasource', 'other', '--create', ...audit],
      rules,
    )
    assert.equal(set.status, 0, set.stderr)
    const get = await svc(['rules', 'get', ...home, '--datasource', 'other'])
    assert.equal(get.stdout, set.stdout)
    assert.match(get.stdout, /^other +0 +loadByPeriod +the last P1M and the future +_default_tier 2$/m)
    assert.match(get.stdout, /^other +1 +dropForever +everything +none$/m)
    const full = await svc(['rules', 'get', ...home, '--datasource', 'other', '--full', '--json'])
    assert.deepEqual(
      JSON.parse(full.stdout).map(({ type }: { type: string }) => type),
      ['loadByPeriod', 'dropForever', 'loadForever'],
    )
    const history = await svc(['rules', 'history', ...home, '--count', '1'])
    assert.match(
      history.stdout,
      /^\d+ +\S+ +other +me +admin +a month is enough +loadByPeriod, dropForever$/m,
    )
    const again = ['rules', 'set', '-', ...home, '--datasource', 'other']
    assert.equal((await svc(again, '[{"type":"dropForever"}]')).status, 0)
    const both = await svc(['rules', 'history', ...home, '--datasource', 'other', '--json'])
    const payloads = JSON.parse(both.stdout).map(({ payload }: { payload: string }) => JSON.parse(payload))
    assert.deepEqual(
      payloads.map(({ length }: { length: number }) => length),
      [1, 2],
      'newest first',
    )
    const bad = await svc(['rules', 'set', '-', ...home, '--datasource', 'other'], '[{"type":"x"}]')
    assert.deepEqual([bad.status, bad.stdout], [2, ''])
    assert.match(bad.stderr, /^svc: Invalid value \[x\] for \[rules\[0\]\.type\]/)
  })

  test('reports an invalid password in one line', async () => {
    const secret = secretFile(cluster.home, 'admin-password')
    writeFileSync(secret, 'wrong')
    try {
      for (const args of [['rules', 'get', ...home], ingest('--timestamp', 'time')]) {
        const { status, stdout, stderr } = await svc(args)
        assert.deepEqual([status, stdout], [4, ''])
        assert.match(stderr, /^svc: .*(credentials|password).*\n$/i)
      }
    } finally {
      writeFileSync(secret, cluster.adminPassword!)
    }
  })

  test('Ctrl-C cancels the task and deletes the copy', async () => {
    // Without the queue, a task waits for a worker indefinitely.
    await cluster.stopInstance('redis')
    const ingestion = run(ingest('--timestamp', 'time'))
    await ingestion.until('Waiting for a worker slot')
    assert.equal(inputs().length, 1)
    ingestion.child.kill('SIGINT')
    const { status, stdout, stderr } = await ingestion.outcome()
    assert.equal(status, 130)
    const [, id] = /^Task (\S+)$/m.exec(stdout)!
    assert.equal(stderr, `svc: Canceled task [${id}]. Nothing was ingested.\n`)
    assert.deepEqual(inputs(), [])
    cluster.startInstance('redis')
  })
})

test('without a cluster, commands say how to start one', async () => {
  const none = path.join(folder, 'none')
  for (const args of [
    ['rules', 'get'],
    ['ingest', flightsFile, '--datasource', 'a', '--timestamp', 'time'],
  ]) {
    const { status, stderr } = await svc([...args, '--home', none])
    assert.equal(status, 2)
    assert.match(stderr, /^svc: .*\.\/svc up.*\n$/)
  }
})

describe('the demo', () => {
  /** The parent of the demo's temporary folders. */
  const temporary = path.join(folder, 'tmp')
  mkdirSync(temporary)

  async function startDemo(): Promise<Run> {
    const portOffset = await pickPortOffset({ historicals: demoHistoricals })
    return run(['demo', '--port-offset', String(portOffset)], { env: { TMPDIR: temporary } })
  }

  const homes = () => readdirSync(temporary).filter((name) => name.startsWith('svc-demo-'))

  /** Every process of the running demo. */
  function processes(): ProcessIdentity[] {
    const [home] = homes()
    return readRunFile(homeLayout(path.join(temporary, home!)))!.processes.map((entry) => entry.process!)
  }

  test('shows every step, exits, and leaves nothing behind', { timeout: 120_000 }, async () => {
    const demo = await startDemo()
    await demo.until('Step 1 of 6')
    const started = processes()
    assert.equal(started.length, 11)
    const { status, stdout, stderr } = await demo.outcome()
    assert.deepEqual([status, stderr], [0, ''])
    assert.equal(stdout.match(/^ +\d+\.\d s {2}Done$/gm)?.length, 6)
    assert.match(stdout, /^Deep storage still contains 90 files \(\d+\.\d kB\)\.$/m)
    // Pictures of the second and the last step.
    assert.match(
      stdout,
      /^ {2}hot +\.{62}2{28}\n {2}_default_tier +\.{31}1{31}\.{28}\n {2}cold +1{31}\.{59}$/m,
    )
    assert.match(stdout, /^ {2}hot +\.{90}\n {2}_default_tier +\.{90}\n {2}cold +\.{90}$/m)
    assert.ok(!stdout.includes('\x1b'))
    assert.deepEqual(started.filter(isRunning), [])
    assert.deepEqual(homes(), [])
  })

  test('Ctrl-C leaves nothing behind', { timeout: 120_000 }, async () => {
    const demo = await startDemo()
    await demo.until('Step 2 of 6')
    const started = processes()
    demo.child.kill('SIGINT')
    const { status, stderr } = await demo.outcome()
    assert.equal(status, 130)
    assert.equal(stderr, 'svc: Stopped the demo and deleted its files.\n')
    assert.deepEqual(started.filter(isRunning), [])
    assert.deepEqual(homes(), [])
  })

  test('rejects a folder that is not empty', async () => {
    const home = path.join(folder, 'full')
    mkdirSync(home)
    writeFileSync(path.join(home, 'mine'), '')
    const { status, stderr } = await svc(['demo', '--home', home])
    assert.equal(status, 2)
    assert.match(stderr, /full\] is not empty: expected a new or empty folder\n$/)
    assert.ok(existsSync(path.join(home, 'mine')))
  })

  test('rejects an invalid port offset', async () => {
    const { status, stderr } = await run(['demo', '--port-offset', '80'], {
      env: { TMPDIR: temporary },
    }).outcome()
    assert.equal(status, 2)
    assert.match(stderr, /^svc: Invalid value \[80\] for \[--port-offset\]/)
    assert.deepEqual(homes(), [])
  })
})
