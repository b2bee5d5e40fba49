// Processes start and stop cleanly: stops finish in time and complete requests in flight, crashed processes
// restart, leadership is handed over at once, and ./svc commands leave nothing behind and do not disturb each
// other.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { connect as connectWithTls } from 'node:tls'
import { type ClusterStatus, pickPortOffset } from '@svc/cli/cluster'
import { homeLayout } from '@svc/cli/home'
import type { ProcessEnd } from '@svc/cli/supervisor'
import { loadLeases, loadNodes } from '@svc/shared/postgres'
import { basicAuthorization, createHttpClient, waitUntil } from '@svc/shared/testing'
import { firstOutput } from './support/first-output.ts'
import { logEntries } from './support/log-entries.ts'
import { processesNaming } from './support/processes-of-home.ts'
import { runSvc, svcCommand } from './support/svc-command.ts'
import { startTestCluster, type TestCluster } from './support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

const stopMs = 10_000

describe('the services of a cluster', () => {
  const ends: ProcessEnd[] = []
  let cluster: TestCluster
  before(async () => {
    cluster = await startTestCluster({
      profile: 'secure',
      instances: 'coordinator=2,overlord=2',
      onEnd: (end) => ends.push(end),
    })
  })
  after(() => cluster.end())

  const lastEndOf = (name: string): ProcessEnd | undefined =>
    ends.findLast(({ instance }) => instance === name)

  for (const instance of ['router', 'broker', 'historical-1', 'overlord', 'coordinator']) {
    test(`SIGTERM stops the ${instance} in time with status 0, and it is restarted`, async () => {
      const began = performance.now()
      await cluster.kill(instance, 'SIGTERM')
      const tookMs = performance.now() - began
      const end = lastEndOf(instance)
      assert.equal(end?.status, 0, JSON.stringify(end))
      assert.ok(tookMs < stopMs, `${instance} took ${tookMs} ms to stop`)
      const messages = logEntries(cluster, instance).map(({ message }) => message)
      assert.deepEqual(messages.filter((message) => message.startsWith('Stop')).slice(-2), [
        'Stopping',
        'Stopped',
      ])
      await cluster.waitUntilReady(instance)
      assert.equal(cluster.processes().find((entry) => entry.instance === instance)?.restarts, 1)
    })
  }

  test('a server that stops leaves discovery at once', async () => {
    const name = cluster.nameOf('broker')
    const names = async () => (await loadNodes(cluster.store, 60_000)).map((node) => node.name)
    assert.ok((await names()).includes(name))
    await cluster.stopInstance('broker')
    assert.ok(!(await names()).includes(name))
    cluster.startInstance('broker')
    await cluster.waitUntilReady('broker')
    assert.ok((await names()).includes(name))
  })

  test('a stopping server finishes a request in flight', async () => {
    const instance = 'coordinator-2'
    const config = '{"dataSource":"unfinished"}'
    const { hostname, port } = new URL(cluster.urls[instance]!)
    // The HTTP client sends bodies without waiting for 100 Continue.
    const socket = connectWithTls({ host: hostname, port: Number(port), ca: cluster.trusted! })
    await once(socket, 'secureConnect')
    const authorization = basicAuthorization(`admin:${cluster.adminPassword}`)
    // The server answers 100 Continue after it has read the head, when it is about to read the body.
    socket.write(
      'POST /svc/coordinator/v1/config/compaction HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
        `Expect: 100-continue\r\nAuthorization: ${authorization}\r\nContent-Length: ${config.length}\r\n\r\n`,
    )
    const [interim] = (await once(socket, 'data')) as [Buffer]
    assert.match(interim.toString(), /^HTTP\/1\.1 100 /)
    socket.write(config.slice(0, 5))
    const linesBefore = logEntries(cluster, instance).length
    const ended = cluster.kill(instance, 'SIGTERM')
    await waitUntil(
      'it is stopping',
      () => logEntries(cluster, instance).slice(linesBefore),
      (entries) => entries.some(({ message }) => message === 'Stopping'),
    )
    const answered = once(socket, 'data')
    socket.write(config.slice(5))
    const [answer] = (await answered) as [Buffer]
    assert.match(answer.toString(), /^HTTP\/1\.1 200 /)
    const answeredAt = performance.now()
    await ended
    const tookMs = performance.now() - answeredAt
    assert.ok(tookMs < 3000, `it kept running for ${tookMs} ms without requests in flight`)
    assert.equal(lastEndOf(instance)?.status, 0)
    // The stopped server may have been the leader.
    await waitUntil(
      'a leader returns the configuration',
      () => cluster.router.get<{ dataSource: string }>('/svc/coordinator/v1/config/compaction/unfinished'),
      ({ dataSource }) => dataSource === 'unfinished',
    )
    await cluster.waitUntilReady(instance)
  })

  test('a stopping server answers a query in flight completely', async () => {
    const rows = 100_000
    const answer = await cluster.at('broker').open({
      method: 'POST',
      path: '/svc/v2/sql',
      json: { query: `SELECT repeat('x', 200) FROM range(${rows})`, resultFormat: 'csv' },
    })
    // More than connections buffer, so the query stays in flight until the client reads.
    const linesBefore = logEntries(cluster, 'broker').length
    const ended = cluster.kill('broker', 'SIGTERM')
    await waitUntil(
      'it is stopping',
      () => logEntries(cluster, 'broker').slice(linesBefore),
      (entries) => entries.some(({ message }) => message === 'Stopping'),
    )
    assert.equal((await text(answer)).trim().split('\n').length, rows)
    await ended
    await cluster.waitUntilReady('broker')
  })

  test('a process that keeps crashing is restarted after increasing delays', async () => {
    const before = ends.length
    for (let count = 0; count < 3; count++) {
      // Killed as soon as it runs, so that it never counts as healthy.
      await waitUntil(
        'the router is running',
        () => cluster.processes().find(({ instance }) => instance === 'router')?.state,
        (state) => state === 'running',
      )
      await cluster.kill('router', 'SIGKILL')
    }
    const killed = ends.slice(before)
    assert.deepEqual(
      killed.map(({ instance, reason }) => [instance, reason]),
      Array(3).fill(['router', 'signal SIGKILL']),
    )
    const [firstMs, secondMs, thirdMs] = killed.map(({ restartDelayMs }) => restartDelayMs!)
    assert.deepEqual([secondMs, thirdMs], [firstMs! * 2, firstMs! * 4])
    await cluster.waitUntilReady('router')
  })

  test('a coordinator that is not the leader redirects requests for rules, which it may not know', async () => {
    const leaderOf = async () =>
      (await loadLeases(cluster.store)).find((lease) => lease.role === 'coordinator')
    const leader = await waitUntil('one is the leader', leaderOf, (lease) => lease !== undefined)
    const other = leader!.node === cluster.nameOf('coordinator') ? 'coordinator-2' : 'coordinator'
    await cluster.waitUntilReady(other)
    const path = '/svc/coordinator/v1/rules/redirected'
    for (const request of [{ path }, { method: 'POST', path, json: [{ type: 'dropForever' }] }]) {
      const { status, headers } = await cluster.at(other).send(request)
      assert.deepEqual([status, headers.location], [307, `https://${leader!.node}${path}`])
    }
    assert.deepEqual(await cluster.router.get(path), [])
  })

  for (const role of ['coordinator', 'overlord'] as const) {
    test(`a stopping leader of role ${role} hands over leadership at once`, async () => {
      const leaderOf = async () => (await loadLeases(cluster.store)).find((lease) => lease.role === role)
      const former = await waitUntil('one is the leader', leaderOf, (lease) => lease !== undefined)
      const isFirst = former!.node === cluster.nameOf(role)
      const [leaving, staying] = isFirst ? [role, `${role}-2`] : [`${role}-2`, role]
      const prefix = role === 'coordinator' ? '/svc/coordinator/v1' : '/svc/indexer/v1'
      await cluster.waitUntilReady(staying)
      const began = performance.now()
      const stopped = cluster.stopInstance(leaving)
      await waitUntil(
        `${staying} is the leader`,
        () => cluster.at(staying).send({ path: `${prefix}/isLeader` }),
        ({ status }) => status === 200,
      )
      const tookMs = performance.now() - began
      // A lease lasts 5 s. Well below that, it was released and did not expire.
      assert.ok(tookMs < 3500, `the takeover took ${tookMs} ms`)
      await stopped
      assert.equal((await leaderOf())?.term, former!.term + 1)
      await waitUntil(
        'the router uses the new leader',
        () => cluster.router.send({ path: `${prefix}/leader` }),
        ({ status, text }) => status === 200 && text === cluster.urls[staying],
      )
      cluster.startInstance(leaving)
      await cluster.waitUntilReady(leaving)
      assert.equal(
        (await leaderOf())?.node,
        cluster.nameOf(staying),
        'a returning server does not take leadership back',
      )
    })
  }
})

test('a test that is killed leaves no cluster and no folder behind', async () => {
  const module = JSON.stringify(path.join(import.meta.dirname, 'support/test-cluster.ts'))
  const program = `const { startTestCluster } = await import(${module})
    const { home } = await startTestCluster()
    console.log(home.root)`
  const killed = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const home = await firstOutput(killed)
  assert.ok(processesNaming(home.trim()).length >= 5)
  killed.kill('SIGKILL')
  await waitUntil('nothing is left', () => !existsSync(home.trim()), Boolean, { timeoutMs: 60_000 })
  assert.deepEqual(processesNaming(home.trim()), [])
})

describe('./svc', () => {
  const folder = newTestFolder()
  const homes = ['foreground', 'first', 'second', 'third'].map((name) => path.join(folder, name))
  const [foreground, first, second, third] = homes as [string, string, string, string]
  after(async () => {
    for (const home of homes) if (existsSync(home)) await runSvc('down', '--home', home)
    removeTestFolder(folder)
  })

  /** Starts ./svc up in its own process group, as a terminal does, and collects its output. */
  function startInForeground(...args: string[]): {
    child: ChildProcess
    output: () => string
    ended: Promise<unknown[]>
  } {
    const child = spawn(svcCommand, ['up', ...args], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    const kill = () => process.kill(-child.pid!, 'SIGKILL')
    process.once('exit', kill)
    const ended = once(child, 'exit').finally(() => process.removeListener('exit', kill))
    return { child, output: () => output, ended }
  }

  const statusOf = async (home: string): Promise<ClusterStatus> =>
    JSON.parse((await runSvc('status', '--json', '--home', home)).stdout) as ClusterStatus

  test('Ctrl-C in the foreground stops everything', async () => {
    const offset = String(await pickPortOffset())
    const { child, output, ended } = startInForeground('--home', foreground, '--port-offset', offset)
    await waitUntil('it is ready', output, (text) => text.includes('Ctrl-C'), { timeoutMs: 60_000 })
    assert.match(output(), /Ready in [\d.]+ s: https:/)
    const { isReady, processes } = await statusOf(foreground)
    assert.ok(isReady)
    assert.equal(processes.length, 7)
    assert.ok(processesNaming(foreground).length >= 7, 'the search for processes found none')

    process.kill(-child.pid!, 'SIGINT')
    assert.deepEqual(await ended, [0, null])
    assert.match(output(), /Stopped\.\s*$/)
    assert.deepEqual(processesNaming(foreground), [])
    assert.equal((await statusOf(foreground)).isRunning, false)
  })

  test('Ctrl-C during startup stops what has been started', async () => {
    const offset = String(await pickPortOffset())
    const { child, output, ended } = startInForeground('--home', foreground, '--port-offset', offset)
    await waitUntil('the first process is ready', output, (text) => text.includes('Started '))
    process.kill(-child.pid!, 'SIGINT')
    const [status] = await ended
    assert.notEqual(status, 0)
    assert.match(output(), /Interrupted by SIGINT/)
    assert.deepEqual(processesNaming(foreground), [])
  })

  test('./svc down stops what a killed supervisor has left running', async () => {
    const offset = String(await pickPortOffset())
    const { child, output, ended } = startInForeground('--home', foreground, '--port-offset', offset)
    await waitUntil('it is ready', output, (text) => text.includes('Ctrl-C'), { timeoutMs: 60_000 })
    process.kill(child.pid!, 'SIGKILL')
    await ended
    const status = await statusOf(foreground)
    assert.equal(status.isRunning, false)
    assert.match(status.problem ?? '', /\.\/svc down/)
    assert.ok(processesNaming(foreground).length > 0)
    assert.equal((await runSvc('down', '--home', foreground)).status, 0)
    assert.deepEqual(processesNaming(foreground), [])
  })

  test('two clusters run side by side, and a third one finds no free ports between them', async () => {
    for (const [home, profile] of [
      [first, 'secure'],
      [second, 'plain'],
    ] as const) {
      const offset = String(await pickPortOffset())
      const up = await runSvc('up', '--detach', '--home', home, '--port-offset', offset, '--profile', profile)
      assert.equal(up.status, 0, `${up.stdout}${up.stderr}`)
    }
    const [one, two] = [await statusOf(first), await statusOf(second)]
    assert.ok(one.isReady && two.isReady)
    assert.notEqual(one.routerUrl, two.routerUrl)

    const password = readFileSync(path.join(homeLayout(first).secrets, 'admin-password'), 'utf8')
    const trusted = readFileSync(path.join(first, 'pki/authority.pem'), 'utf8')
    const secure = createHttpClient(one.routerUrl!, { trusted, credentials: `admin:${password}` })
    const plain = createHttpClient(two.routerUrl!)
    try {
      await secure.post('/svc/coordinator/v1/rules/one', [{ type: 'dropForever' }])
      assert.deepEqual(Object.keys(await secure.get<object>('/svc/coordinator/v1/rules')).sort(), [
        '_default',
        'one',
      ])
      assert.deepEqual(Object.keys(await plain.get<object>('/svc/coordinator/v1/rules')), ['_default'])

      const again = await runSvc('up', '--detach', '--home', first, '--port-offset', '0')
      assert.notEqual(again.status, 0)
      assert.match(again.stderr, /A cluster is already running in/)

      const offset = String(Number(new URL(two.routerUrl!).port) - 8888)
      const taken = await runSvc(
        'up',
        '--detach',
        '--home',
        third,
        '--port-offset',
        offset,
        '--profile',
        'plain',
      )
      assert.notEqual(taken.status, 0)
      assert.match(taken.stderr, /Ports already in use: /)
      assert.doesNotMatch(taken.stderr, /^\s+at /m)
      assert.deepEqual(processesNaming(third), [], 'something was started')

      assert.equal((await runSvc('down', '--home', first)).status, 0)
      assert.deepEqual(processesNaming(first), [])
      assert.ok((await statusOf(second)).isReady, 'the other cluster was disturbed')
      assert.equal((await statusOf(first)).isRunning, false)
    } finally {
      await Promise.all([secure.close(), plain.close()])
    }
  })

  test('stored data survives a restart', async () => {
    const offset = String(await pickPortOffset())
    const up = await runSvc('up', '--detach', '--home', first, '--port-offset', offset)
    assert.equal(up.status, 0, `${up.stdout}${up.stderr}`)
    const password = (await runSvc('password', '--home', first)).stdout.trim()
    const client = createHttpClient((await statusOf(first)).routerUrl!, {
      trusted: readFileSync(path.join(first, 'pki/authority.pem'), 'utf8'),
      credentials: `admin:${password}`,
    })
    try {
      assert.deepEqual(await client.get('/svc/coordinator/v1/rules/one'), [{ type: 'dropForever' }])
    } finally {
      client.close()
    }
  })
})
