// After any workload, a reset returns to the state of a new cluster, and a snapshot to the state in which it was taken.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, test } from 'node:test'
import { sql } from '@svc/shared/postgres'
import { openProducerConnection } from '@svc/shared/redis'
import { waitUntil } from '@svc/shared/testing'
import fc from 'fast-check'
import { runTask, submitTask } from './support/flights.ts'
import { folderContents } from './support/folder-contents.ts'
import { inlineTask } from './support/inline-task.ts'
import { resetCluster } from './support/reset-cluster.ts'
import { startTestCluster } from './support/test-cluster.ts'

const cluster = await startTestCluster({
  set: ['svc.testing.enabled=true', 'svc.coordinator.period=PT0.2S'],
})
after(() => cluster.end())
const { router, store, home, settings } = cluster
const testing = '/svc/indexer/v1/testing'
const coordinator = '/svc/coordinator/v1'
const security = '/proxy/coordinator/svc-ext/basic-security'

/** Tables of the running servers, and measurements that a cluster makes by itself. */
const ownTables = ['nodes', 'leader_leases', 'schema_migrations', 'server_troubles', 'load_rates']

/** Everything that a cluster stores, except heartbeats, leases, measurements, and logins of this test and of servers. */
async function stateOfCluster(): Promise<Record<string, unknown>> {
  const tables = await store.query<{ name: string; rows: string }>(sql`
    SELECT tablename::text AS name,
      query_to_xml(format('SELECT t::text AS r FROM public.%I t WHERE t::text NOT LIKE ''%%,security.login,%%'' ORDER BY 1', tablename), true, false, '')::text AS rows
    FROM pg_tables WHERE schemaname = 'public' AND NOT tablename::text = ANY(${ownTables}) ORDER BY 1`)
  const rows = Object.fromEntries(tables.map(({ name, rows }) => [name, rows]))
  return { rows, queues: await queueKeys(), files: filesOf(), servers: await servedSegments() }
}

async function queueKeys(): Promise<string[]> {
  const redis = openProducerConnection(settings)
  await new Promise((resolve) => redis.once('ready', resolve))
  const keys = await redis.keys('*')
  redis.disconnect()
  // What every start creates: the lifetime of the queues, and their versions. Every login is counted for a while.
  return keys.filter((key) => !/:(epoch|meta|stalled-check)$|:login-failures:/.test(key)).sort()
}

const filesOf = (): string[] =>
  [home.deepStorage, home.taskLogs, home.cache, home.query, home.tasks]
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => Object.keys(folderContents(folder)))
    .filter((file) => !file.includes('.snapshots'))
    .sort()

async function servedSegments() {
  const servers = await router.get<{ host: string; currSize: number }[]>(`${coordinator}/servers?simple`)
  return servers.map(({ host, currSize }) => ({ host, currSize }))
}

/** Waits until every segment of a datasource is on a server. */
async function untilLoaded(dataSource: string): Promise<void> {
  await waitUntil(
    `${dataSource} is loaded`,
    () => router.get<Record<string, number>>(`${coordinator}/loadstatus`),
    (status) => status[dataSource] === 100,
  )
}

interface Step {
  readonly name: string
  run(): Promise<unknown>
}

/** Changes of every kind of state. */
const steps: readonly Step[] = [
  {
    name: 'rules',
    run: () => router.post(`${coordinator}/rules/flights`, [{ type: 'dropForever' }]),
  },
  {
    name: 'default rules',
    run: () =>
      router.post(`${coordinator}/rules/_default`, [
        { type: 'loadForever', tieredReplicants: { _default_tier: 1 } },
      ]),
  },
  {
    name: 'a configuration',
    run: () => router.post(`${coordinator}/config`, { maxSegmentsToMove: 7 }),
  },
  {
    name: 'a user',
    run: () => router.post(`${security}/authentication/db/MyBasicMetadataAuthenticator/users/ann`, {}),
  },
  {
    name: 'a role',
    run: () => router.post(`${security}/authorization/db/MyBasicMetadataAuthorizer/roles/reader`, {}),
  },
  {
    name: 'an ingestion',
    run: () => runTask(router, inlineTask('flights')),
  },
  {
    name: 'a running task',
    run: () => submitTask(router, inlineTask('trains')),
  },
  {
    name: 'loaded segments',
    run: async () => {
      await runTask(router, inlineTask('buses'))
      await untilLoaded('buses')
    },
  },
  {
    name: 'a query',
    run: () => router.post('/svc/v2/sql', { query: 'SELECT 1' }),
  },
  {
    name: 'compaction',
    run: () => router.post(`${coordinator}/config/compaction`, { dataSource: 'flights' }),
  },
]

/** Runs steps. They may be refused, for example because a role exists. */
async function work(names: readonly string[]): Promise<void> {
  for (const { run } of names.map((name) => steps.find((step) => step.name === name)!))
    await run().catch((error: Error) => assert.match(error.message, /: (400|409) /))
}

const workload = fc.array(fc.constantFrom(...steps.map(({ name }) => name)), { minLength: 1, maxLength: 5 })

test('a reset after any workload equals a new cluster', async () => {
  const fresh = await stateOfCluster()
  const processes = cluster.processes().map(({ process }) => process?.pid)
  await fc.assert(
    fc.asyncProperty(workload, async (names) => {
      await work(names)
      await resetCluster(router)
      assert.deepEqual(await stateOfCluster(), fresh)
    }),
    { numRuns: 4, endOnFailure: true, examples: [[steps.map(({ name }) => name)]] },
  )
  assert.deepEqual(
    cluster.processes().map(({ process }) => process?.pid),
    processes,
  )
})

test('a snapshot is loaded with its rules, users, and segments', async () => {
  await work(['rules', 'a user', 'loaded segments'])
  await router.post(`${testing}/snapshots`, { name: 'buses' })
  await resetCluster(router)
  assert.deepEqual(await router.get(`${coordinator}/metadata/datasources`), [])
  await work(['loaded segments', 'default rules'])
  await resetCluster(router, 'buses')
  await untilLoaded('buses')
  const rules = await router.get<Record<string, unknown[]>>(`${coordinator}/rules`)
  assert.deepEqual(rules.flights, [{ type: 'dropForever' }])
  const { json } = await router.post('/svc/v2/sql', { query: 'SELECT COUNT(*) AS n FROM buses' })
  assert.deepEqual(json, [{ n: 1 }])
})

test('a snapshot that does not exist is refused', async () => {
  const answer = await router.send({ method: 'POST', path: `${testing}/resets`, json: { snapshot: 'no' } })
  assert.equal(answer.status, 404)
  assert.match(answer.text, /Snapshot \[no\] does not exist/)
})
