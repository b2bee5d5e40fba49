import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { setPath } from '@svc/shared/testing'
import { connectToCluster, sendRequest } from '../client/index.ts'
import { homeLayout, openHome, readRunFile, secretFile, writeSecret } from '../home/index.ts'
import { isRunning } from '../processes/index.ts'
import { clusterStatus } from './cluster-status.ts'
import { pickPortOffset } from './free-ports.ts'
import { type Cluster, startCluster } from './start-cluster.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-cluster-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** The processes of a cluster, to check after it has stopped. */
const processesOf = (cluster: Cluster) => cluster.processes().map((entry) => entry.process!)

const initialAdminPassword = 'svc.auth.authenticator.MyBasicMetadataAuthenticator.initialAdminPassword'

test('two clusters run side by side, and each stops completely', async (context) => {
  const secureHome = path.join(folder, 'secure')
  const secure = await startCluster({
    home: secureHome,
    portOffset: await pickPortOffset(),
    adminPassword: 'the-password',
  })
  context.after(() => secure.stop())
  const plain = await startCluster({
    home: path.join(folder, 'plain'),
    portOffset: await pickPortOffset({ profile: 'plain' }),
    profile: 'plain',
  })
  context.after(() => plain.stop())
  const processes = [...processesOf(secure), ...processesOf(plain)]
  assert.equal(new Set(processes.map(({ pid }) => pid)).size, 14)
  for (const cluster of [secure, plain]) {
    const { isReady, processes } = await clusterStatus(cluster.home)
    assert.deepEqual([isReady, processes.filter(({ state }) => state !== 'ready')], [true, []])
  }

  const { trusted, routerUrl } = secure
  assert.equal((await sendRequest({ url: `${routerUrl}/status`, trusted })).status, 401)
  const client = connectToCluster(secure.home)
  assert.ok(await client.send('GET', '/status'))
  await assert.rejects(client.send('GET', '/no/such/path'), /does not exist.* \(GET \/no\/such\/path\)$/)
  assert.equal((await sendRequest({ url: `${plain.routerUrl}/status` })).status, 200)

  await Promise.all([secure.stop(), plain.stop()])
  assert.deepEqual(processes.filter(isRunning), [])
  assert.equal(readRunFile(secure.home), undefined)

  // The metadata store has the password now, so a different one would have no effect.
  const again = startCluster({
    home: secureHome,
    portOffset: await pickPortOffset(),
    adminPassword: 'another',
  })
  await assertRejected(again, secureHome, /^The admin of \[.*\] already has a password/)
  assert.equal(readFileSync(secretFile(secure.home, 'admin-password'), 'utf8'), 'the-password')
})

test('restarts an instance that dies, but not one that was stopped', async (context) => {
  const ended: string[] = []
  const cluster = await startCluster({
    home: path.join(folder, 'plain'),
    portOffset: await pickPortOffset({ profile: 'plain' }),
    profile: 'plain',
    onEnd: ({ instance, reason }) => ended.push(`${instance}: ${reason}`),
  })
  context.after(() => cluster.stop())
  const before = processesOf(cluster)
  await cluster.kill('historical-1', 'SIGKILL')
  await cluster.waitUntilReady('historical-1')
  await cluster.kill('redis', 'SIGKILL')
  await cluster.kill('postgres', 'SIGKILL')
  await cluster.waitUntilReady('router')
  assert.deepEqual(ended, [
    'historical-1: signal SIGKILL',
    'redis: signal SIGKILL',
    'postgres: signal SIGKILL',
  ])
  const restarted = cluster.processes().filter(({ restarts }) => restarts > 0)
  assert.ok(restarted.some(({ instance }) => instance === 'historical-1'))
  assert.ok(!before.some((process) => process.pid === cluster.processes().at(4)!.process!.pid))

  await cluster.stopInstance('broker')
  const stopped = await clusterStatus(cluster.home)
  assert.equal(stopped.isReady, false)
  assert.equal(stopped.processes.find(({ instance }) => instance === 'broker')!.state, 'stopped')
  await assert.rejects(cluster.waitUntilReady('broker', 50), /broker is not ready after 50 ms/)
  cluster.startInstance('broker')
  await cluster.waitUntilReady('broker')
})

test('reports a service with a wrong password, and the others work', async (context) => {
  const cluster = await startCluster({
    home: path.join(folder, 'secure'),
    portOffset: await pickPortOffset(),
    set: ['historical.svc.escalator.internalClientPassword=wrong'],
    readyTimeoutMs: 15_000,
  })
  context.after(() => cluster.stop())
  const [notReady, ...more] = cluster.notReady
  assert.equal(notReady?.instance, 'historical-1')
  assert.match(notReady.problem, /escalator|password|credentials/i)
  assert.deepEqual(more, [])
  const { isReady, processes } = await clusterStatus(cluster.home)
  assert.equal(isReady, false)
  const historical = processes.find(({ instance }) => instance === 'historical-1')!
  assert.equal(historical.state, 'not ready')
  assert.equal(historical.problem, notReady.problem)
})

/** Asserts that a start fails with one message and leaves nothing running. */
async function assertRejected(start: Promise<Cluster>, home: string, message: RegExp): Promise<void> {
  await assert.rejects(start, (error: Error) => {
    assert.equal(error.name, 'Failure')
    assert.match(error.message, message)
    return true
  })
  assert.equal(readRunFile(homeLayout(home)), undefined)
}

test('reports a port in use, its purpose, and a free offset before anything starts', async (context) => {
  const portOffset = await pickPortOffset()
  const blocker = createServer().listen(8083 + portOffset, '127.0.0.1')
  context.after(() => blocker.close())
  await once(blocker, 'listening')
  const home = path.join(folder, 'ports')
  const steps: string[] = []
  const start = startCluster({ home, portOffset, profile: 'plain', onStep: (step) => steps.push(step) })
  const message = new RegExp(
    `^Port already in use: ${8083 + portOffset} \\(historical-1\\)\\. .* --port-offset \\d+000\\.$`,
  )
  await assertRejected(start, home, message)
  assert.deepEqual(steps, [])
  assert.equal(existsSync(home), false, 'no home is left behind')
})

for (const { name, options, message } of [
  {
    name: 'an invalid property',
    options: { set: ['coordinator.svc.coordinator.perod=PT1S'] },
    message: /^Failed to start coordinator: .*\[svc\.coordinator\.perod\].*\[svc\.coordinator\.period\]/s,
  },
  {
    name: 'a password that is too short',
    options: { adminPassword: 'seven77' },
    message:
      /^Invalid value for \[--admin-password\] \(\[7\] characters\): expected 8 to 1024 characters without control characters, and not only spaces\.$/,
  },
  {
    name: 'a password that is too short for this cluster',
    options: { adminPassword: 'eight888', set: ['svc.auth.credentials.minLength=9'] },
    message: /expected 9 to 1024 characters without control characters, and not only spaces\.$/,
  },
  {
    name: 'a configured initial password that is too short',
    options: { set: [`${initialAdminPassword}=seven77`] },
    message:
      /^Invalid value for \[svc\.auth\..*initialAdminPassword\] \(\[7\] characters\): expected 8 to 1024 characters/,
  },
  {
    name: 'an initial password that differs from the configured one',
    options: { adminPassword: 'the-password', set: [`${initialAdminPassword}=another-password`] },
    message:
      /^\[--admin-password\] and \[svc\.auth\..*\] have different values: expected only one of them\.$/,
  },
]) {
  test(`rejects ${name} before anything starts and leaves no new home`, async () => {
    const home = path.join(folder, 'refused')
    const steps: string[] = []
    const onStep = (step: string) => steps.push(step)
    const portOffset = await pickPortOffset()
    await assertRejected(startCluster({ home, portOffset, onStep, ...options }), home, message)
    assert.deepEqual(steps, [])
    assert.equal(existsSync(home), false)
  })
}

test('keeps an existing home when a start in it is rejected', async () => {
  const home = openHome(path.join(folder, 'kept'))
  const start = startCluster({ home: home.root, portOffset: await pickPortOffset(), set: ['svc.perod=1'] })
  await assertRejected(start, home.root, /Unknown property/)
  assert.ok(existsSync(home.marker))
})

test('reports in one line why Redis cannot start', async (context) => {
  const programs = path.join(folder, 'programs')
  mkdirSync(programs)
  const lines = ['#!/bin/sh', '[ "$1" = --version ] && echo "Redis server v=7.0.15 sha=0" && exit 0']
  const log = '42:M 05 Nov 2026 08:01:55.123 # Failed listening on port 80 (tcp), aborting.'
  writeFileSync(path.join(programs, 'redis-server'), [...lines, `echo '${log}'`, 'exit 1', ''].join('\n'), {
    mode: 0o755,
  })
  setPath(context, `${programs}${path.delimiter}${process.env.PATH}`)
  const home = path.join(folder, 'redis-fails')
  const start = startCluster({ home, portOffset: await pickPortOffset(), storesOnly: true })
  await assertRejected(
    start,
    home,
    /^Failed to start redis: Failed listening on port 80 \(tcp\), aborting; see its log \[.*redis\.log\]$/,
  )
})

test('the configured initial password of the admin becomes the password of the home', async (context) => {
  const home = path.join(folder, 'configured-password')
  const cluster = await startCluster({
    home,
    portOffset: await pickPortOffset(),
    set: [`coordinator.${initialAdminPassword}=from-the-options`],
  })
  context.after(() => cluster.stop())
  assert.equal(cluster.adminPassword, 'from-the-options')
  assert.equal(readFileSync(secretFile(cluster.home, 'admin-password'), 'utf8'), 'from-the-options')
  assert.ok(await connectToCluster(cluster.home).send('GET', '/svc/coordinator/v1/loadstatus'))
})

test('logins do not require TLS', async (context) => {
  const set = ['svc.enableTlsPort=false', 'svc.enablePlaintextPort=true']
  const portOffset = await pickPortOffset({ set })
  const cluster = await startCluster({ home: path.join(folder, 'logins-without-tls'), portOffset, set })
  context.after(() => cluster.stop())
  assert.deepEqual(cluster.notReady, [])
  assert.match(cluster.routerUrl, /^http:/)
  assert.equal((await sendRequest({ url: `${cluster.routerUrl}/status` })).status, 401)
  assert.ok(await connectToCluster(cluster.home).send('GET', '/svc/coordinator/v1/loadstatus'))
})

test('an aborted start leaves nothing behind', async () => {
  const home = path.join(folder, 'interrupted')
  const controller = new AbortController()
  const onStep = (step: string) => {
    if (step === 'Started redis') controller.abort(new Error('enough'))
  }
  const start = startCluster({ home, portOffset: await pickPortOffset(), signal: controller.signal, onStep })
  await assert.rejects(start, /^Error: enough$/)
  assert.equal(readRunFile(homeLayout(home)), undefined)
})

test('reports damaged homes', async () => {
  const home = openHome(path.join(folder, 'broken'))
  const portOffset = await pickPortOffset()
  mkdirSync(home.postgres)
  await assertRejected(
    startCluster({ home: home.root, portOffset }),
    home.root,
    /is not a Postgres data folder/,
  )
  writeFileSync(path.join(home.postgres, 'PG_VERSION'), '16\n')
  const start = startCluster({ home: home.root, portOffset })
  await assertRejected(start, home.root, / was created with Postgres \[16\], expected \[18\]/)
  writeFileSync(path.join(home.postgres, 'PG_VERSION'), '18\n')
  const lost = (name: string) => new RegExp(`is damaged: its password file \\[.*${name}\\] is missing`)
  await assertRejected(startCluster({ home: home.root, portOffset }), home.root, lost('postgres-password'))
  writeSecret(home, 'postgres-password', 'a')
  writeSecret(home, 'internal-client-password', 'b')
  await assertRejected(startCluster({ home: home.root, portOffset }), home.root, lost('admin-password'))
  writeFileSync(home.runFile, '{')
  await assert.rejects(startCluster({ home: home.root, portOffset }), /is damaged: run file/)
})
