// A historical with a wrong escalator password is reported within ten seconds in its own log, in the
// coordinator's log, and by `./svc status`. The other servers keep working, and the historical works once its
// password is corrected.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { type ClusterStatus, runtimePropertiesFile } from '@svc/cli/cluster'
import { readSecret } from '@svc/cli/home'
import type { Call } from '@svc/shared/http'
import { loadNodes } from '@svc/shared/postgres'
import { waitUntil } from '@svc/shared/testing'
import { flights, flightsTask, runTask } from './support/flights.ts'
import { type LogEntry, logEntries } from './support/log-entries.ts'
import { cachedSegments } from './support/segments.ts'
import { runSvc } from './support/svc-command.ts'
import { startTestCluster } from './support/test-cluster.ts'

const misconfigured = 'historical-hot-1'
const sound = 'historical-1'
const wrongPassword = 'certainly-not-the-password'
const setting = 'svc.escalator.internalClientPassword'
const noticeMs = 10_000

const cluster = await startTestCluster({
  profile: 'secure',
  historicals: 'hot=1,_default_tier=1',
  set: ['coordinator.svc.coordinator.period=PT0.5S'],
})
after(() => cluster.end())
const misconfiguredName = cluster.nameOf(misconfigured)
const misconfiguredFile = runtimePropertiesFile(cluster.home, misconfigured)
const rightProperties = readFileSync(misconfiguredFile, 'utf8')

await cluster.stopInstance(misconfigured)
writeFileSync(misconfiguredFile, `${rightProperties}${setting}=${wrongPassword}\n`)
const startedAt = Date.now()
cluster.startInstance(misconfigured)

/** The warnings about the password in the log of an instance. */
const warningsOf = (instance: string): LogEntry[] =>
  logEntries(cluster, instance).filter(
    ({ level, message }) => level === 'warn' && message.includes(`[${setting}]`),
  )

/** Waits for a number of these warnings, and returns the first one. */
async function firstWarningOf(instance: string, count = 1): Promise<LogEntry> {
  const complaints = await waitUntil(
    `the log of ${instance} names the cause ${count} times`,
    () => warningsOf(instance),
    (found) => found.length >= count,
  )
  return complaints[0]!
}

/** Counts from the first line that the server logged, because startup time depends on the machine. */
function assertInTime({ timestamp }: LogEntry): void {
  const lines = logEntries(cluster, misconfigured).map((entry) => Date.parse(entry.timestamp))
  const tookMs = Date.parse(timestamp) - Math.min(...lines.filter((timeMs) => timeMs >= startedAt))
  assert.ok(tookMs < noticeMs, `it took ${tookMs} ms`)
}

test('its own log names the cause within ten seconds', async () => {
  const lastError = await firstWarningOf(misconfigured)
  assert.match(lastError.message, /Coordinator .* rejected the escalator credentials of user \[svc_system\]/)
  assertInTime(lastError)
})

test("the coordinator's log names the server and the cause within ten seconds", async () => {
  const lastError = await firstWarningOf('coordinator')
  assert.ok(
    lastError.message.includes(`Rejected server [historical ${misconfiguredName}]`),
    lastError.message,
  )
  assert.match(lastError.message, /invalid escalator user \[svc_system\] or password/)
  assertInTime(lastError)
  const others = warningsOf('coordinator').filter(({ message }) => !message.includes(misconfiguredName))
  assert.deepEqual(others, [], 'another server is blamed')
})

test('./svc status names the server and the cause, as text and as JSON', async () => {
  const shown = await runSvc('status', '--home', cluster.home.root)
  assert.equal(shown.status, 1)
  const line = shown.stdout.split('\n').find((text) => text.includes(misconfigured))
  assert.match(line ?? shown.stdout, /not ready .*rejected the escalator credentials.*internalClientPassword/)

  const printed = await runSvc('status', '--json', '--home', cluster.home.root)
  assert.equal(printed.status, 1)
  const status = JSON.parse(printed.stdout) as ClusterStatus
  const notReady = status.processes.filter(({ state }) => state !== 'ready')
  assert.deepEqual(
    notReady.map(({ instance }) => instance),
    [misconfigured],
  )
  assert.match(notReady[0]!.problem ?? '', /rejected the escalator credentials/)
})

test('the explanations of the cluster and of the server name the cause', async () => {
  const cause = `The historical [${misconfiguredName}] is not ready: `
  for (const about of [['cluster'], ['server', misconfigured]]) {
    const { stdout, stderr } = await runSvc('explain', ...about, '--home', cluster.home.root)
    const line = stdout.split('\n').find((text) => text.startsWith(cause))
    assert.match(line ?? '', /rejected the escalator credentials/, `${stdout}${stderr}`)
  }
})

test('the server is not announced, and reports that it is not ready', async () => {
  const announced = (await loadNodes(cluster.store, 60_000)).map(({ name }) => name)
  assert.ok(announced.includes(cluster.nameOf(sound)))
  assert.ok(!announced.includes(misconfiguredName))
  await waitUntil(
    'the coordinator no longer lists it',
    () => cluster.router.get<string[]>('/svc/coordinator/v1/servers'),
    (servers) => servers.includes(cluster.nameOf(sound)) && !servers.includes(misconfiguredName),
  )
  const health = await cluster.at(misconfigured).send({ path: '/status/health', credentials: null })
  assert.equal(health.status, 503)
})

test('the other servers keep working: segments are ingested and loaded by the rules', async () => {
  const rules = [{ type: 'loadForever', tieredReplicants: { hot: 1, _default_tier: 1 } }]
  await cluster.router.post(`/svc/coordinator/v1/rules/${flights.dataSource}`, rules)
  await runTask(cluster.router, flightsTask())
  await waitUntil(
    'the working historical has loaded everything',
    () => cachedSegments(cluster, sound).length,
    (count) => count === flights.days,
  )
  assert.deepEqual(await cluster.router.get('/svc/coordinator/v1/loadstatus'), { [flights.dataSource]: 100 })
})

test('the server keeps retrying', async () => {
  await firstWarningOf(misconfigured, 2)
})

test('the wrong password is in no log', () => {
  for (const instance of ['coordinator', misconfigured, 'router', 'supervisor']) {
    assert.ok(!cluster.logOf(instance).includes(wrongPassword), instance)
  }
})

test('the server joins without a restart once its password is corrected', async () => {
  writeFileSync(misconfiguredFile, rightProperties)
  await cluster.waitUntilReady(misconfigured)
  await waitUntil(
    'it has loaded the segments that the rules assign to it',
    () => cachedSegments(cluster, misconfigured).length,
    (count) => count === flights.days,
  )
  const { status, stdout } = await runSvc('status', '--home', cluster.home.root)
  assert.equal(status, 0, stdout)
  const summarized = await runSvc('explain', 'cluster', '--home', cluster.home.root)
  assert.equal(summarized.status, 0, summarized.stderr)
  assert.notEqual(summarized.stdout, '')
  const explained = await runSvc('explain', 'server', misconfigured, '--home', cluster.home.root)
  assert.match(explained.stdout, /is a historical in tier .* serves [1-9]/, explained.stderr)
})

const instances = cluster.plan.services.map(({ instance }) => instance)
const callsOf = (instance: string) => cluster.at(instance).get<Call[]>('/svc/internal/v1/calls')

test('every call between servers uses TLS and the escalator, and reaches a server with its own certificate', async () => {
  const urls = new Map(instances.map((instance) => [cluster.urls[instance], instance]))
  for (const instance of instances) {
    const sent = (await callsOf(instance)).filter(({ direction }) => direction === 'sent')
    // The router requests users and roles like every other server; the coordinator does not need to.
    if (instance !== 'coordinator') assert.ok(sent.length > 0, instance)
    for (const call of sent) {
      const about = JSON.stringify(call)
      assert.ok(call.tls && call.to.startsWith('https://'), about)
      assert.equal(call.identity, 'svc_system', about)
      assert.ok(call.path.startsWith('/svc-internal/'), about)
      assert.ok(call.from.endsWith(` ${cluster.nameOf(instance)}`), about)
      const target = urls.get(call.to)
      assert.ok(target, about)
      if (call.status !== null) assert.equal(call.certificate, `CN=${target}`, about)
    }
  }
})

test('only servers use the escalator: every call received in its name was sent by a server', async () => {
  const servers = new Set(
    cluster.plan.services.map(({ role, instance }) => `${role} ${cluster.nameOf(instance)}`),
  )
  for (const instance of instances) {
    const received = (await callsOf(instance)).filter(({ direction }) => direction === 'received')
    if (instance === 'router') assert.deepEqual(received, [])
    for (const call of received) {
      const about = JSON.stringify(call)
      assert.ok(call.tls && servers.has(call.from) && call.path.startsWith('/svc-internal/'), about)
      // Refused, sent to a server that had just opened its ports and knew no users yet, or aborted.
      const isAccepted = ![401, 503, null].includes(call.status)
      assert.ok(call.identity === 'svc_system' || (call.identity === '' && !isAccepted), about)
    }
  }
})

test('a request through the router runs as its caller, and is not a call between servers', async () => {
  const path = '/svc/coordinator/v1/leader'
  assert.equal((await cluster.router.send({ path })).status, 200)
  assert.equal((await cluster.router.send({ path, credentials: null })).status, 401)
  assert.equal((await cluster.router.send({ path, credentials: 'admin:wrong' })).status, 401)
  for (const instance of ['router', 'coordinator'])
    assert.ok(
      (await callsOf(instance)).every((call) => call.path !== path),
      instance,
    )
  // An outside caller with the internal user's credentials is recorded.
  const password = readSecret(cluster.home, 'internal-client-password')
  await cluster.router.send({ path, credentials: `svc_system:${password}` })
  const seen = (await callsOf('coordinator')).find((call) => call.path === path)
  assert.deepEqual([seen?.from, seen?.identity, seen?.status], ['', 'svc_system', 200])
})

test('./svc calls shows the journals of all servers', async () => {
  const shown = await runSvc('calls', '--home', cluster.home.root, '--json', '--count', '1000')
  assert.equal(shown.status, 0, shown.stderr)
  const calls = JSON.parse(shown.stdout) as (Call & { instance: string })[]
  assert.deepEqual(new Set(calls.map(({ instance }) => instance)), new Set(instances))
  const table = await runSvc('calls', '--home', cluster.home.root, '--instance', 'broker')
  assert.match(table.stdout, /sent +broker .* svc_system +CN=coordinator +200/)
  const nobody = await runSvc('calls', '--home', cluster.home.root, '--instance', 'nobody')
  assert.equal(nobody.status, 2)
  assert.match(nobody.stderr, /Invalid value \[nobody\] for \[--instance\]/)
})
