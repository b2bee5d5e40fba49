// Proves that, with compatibility, every recorded endpoint answers each of the recorded users with the recorded status.
// What the interface does not have, and what depends on another state than that of the recorded system, stands here.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { runTask } from './support/flights.ts'
import { inlineTask } from './support/inline-task.ts'
import { playSecurityScenarios } from './support/play-scenario.ts'
import { startTestCluster, type TestCluster } from './support/test-cluster.ts'
import { waitUntil } from './support/wait-until.ts'

interface Row {
  readonly at: string
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly status: Readonly<Record<string, number>>
}

const fixture = path.join(import.meta.dirname, 'fixtures/conformance/security/permission-matrix.json')
const rows = (JSON.parse(readFileSync(fixture, 'utf8')) as { endpoints: readonly Row[] }).endpoints

/** Parts of the recorded system that the interface does not have. */
const absent: readonly RegExp[] = [
  /\/lookups\//,
  /\/scaling$/,
  /\/reports$/,
  /\/pendingSegments\//,
  /\/svc\/indexer\/v1\/worker/,
  /\/lockedIntervals\/v2$/,
  /\/activeLocks$/,
  /\/svc-internal\//,
  /\/bootstrapSegments$/,
  /\/router\/v1\/brokers$/,
  /\/syncedBrokers$|\/cloneStatus$/,
]

/** Rows whose statuses tell of another state than ours: no such task type, a log that is kept, suspending once more. */
const otherState: readonly RegExp[] = [
  /^GET \/svc\/indexer\/v1\/compaction\/config\/datasources\/(wikipedia|koalas)$/,
  /^GET .*\/log\?offset=-10$/,
  /^POST \/svc\/indexer\/v1\/task$/,
  /^POST \/svc\/indexer\/v1\/taskStatus$/,
  /\/supervisor\/autocompact__\w+\/(health|suspend|resume)$/,
  // Servers ask for changes here; nobody pushes them.
  /\/listen\//,
]

/** What stands for the things that the recorded system had names of its own for. */
async function prepare(cluster: TestCluster): Promise<(text: string) => string> {
  const played = await playSecurityScenarios(cluster, 'directly', ['security/setup.json'])
  assert.equal(played.status, 0, played.output)
  const names = new Map([['{historical port}', new URL(cluster.urls['historical-1']!).port]])
  for (const dataSource of ['wikipedia', 'koalas']) {
    names.set(`{task of ${dataSource}}`, await runTask(cluster.router, inlineTask(dataSource)))
    await waitUntil(
      `${dataSource} is loaded`,
      () => cluster.router.get<Record<string, number>>('/svc/coordinator/v1/loadstatus'),
      (status) => status[dataSource] === 100,
    )
    const [segment] = await cluster.router.get<string[]>(
      `/svc/coordinator/v1/metadata/datasources/${dataSource}/segments`,
    )
    names.set(`{segment of ${dataSource}}`, segment!)
  }
  await cluster.router.post('/svc/indexer/v1/compaction/config/cluster', { useSupervisors: true })
  return (text) => [...names].reduce((filled, [name, value]) => filled.replaceAll(name, value), text)
}

const passwordOf = (user: string) => (user === 'admin' ? 'password1' : 'pw-long-enough')

test('with compatibility, permissions are as recorded', { timeout: 500_000 }, async () => {
  const cluster = await startTestCluster({
    profile: 'secure',
    adminPassword: 'password1',
    set: ['svc.auth.authorizer.MyBasicMetadataAuthorizer.compatibility=true'],
  })
  try {
    const fill = await prepare(cluster)
    const differing: string[] = []
    for (const row of rows) {
      if (absent.some((pattern) => pattern.test(row.path))) continue
      if (otherState.some((pattern) => pattern.test(`${row.method} ${row.path}`))) continue
      const instance = row.at === 'historical' ? 'historical-1' : row.at
      for (const [user, recorded] of Object.entries(row.status)) {
        const answer = await cluster.at(instance).send({
          method: row.method,
          path: fill(row.path),
          ...(row.body === undefined ? {} : { json: JSON.parse(fill(JSON.stringify(row.body))) }),
          credentials: user === '(none)' ? null : `${user}:${passwordOf(user)}`,
        })
        if (answer.status !== recorded)
          differing.push(
            `${row.at} ${row.method} ${row.path} ${user}: ${answer.status}, recorded ${recorded}`,
          )
      }
    }
    assert.deepEqual(differing, [])
  } finally {
    await cluster.end()
  }
})
