// The home of an earlier version works with this one: `./svc down` of that version stopped it, the next start
// migrates its store, and all of its data is available. test/fixtures/earlier-home/make.sh shows what it
// contains.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { commonPropertiesFile } from '@svc/cli/cluster'
import { homeLayout } from '@svc/cli/home'
import { knownMigrations, sql } from '@svc/shared/postgres'
import { waitUntil } from '@svc/shared/testing'
import { flights, runTask } from './support/flights.ts'
import { resetCluster } from './support/reset-cluster.ts'
import { cachedSegments, servedBy, storedSegments } from './support/segments.ts'
import { sqlRows } from './support/sql.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { credentialsOf } from './support/test-users.ts'
import { untilLoaded } from './support/until-loaded.ts'

const archive = path.join(import.meta.dirname, 'fixtures/earlier-home/home.tar.zst')
const lastMigrationThen = '0007_server-troubles'

const cluster = await startTestCluster({
  profile: 'secure',
  placeHome: unpack,
  hasRealPasswords: true,
  set: ['svc.testing.enabled=true'],
})
after(() => cluster.end())
const { router, store } = cluster

function unpack(home: string): void {
  mkdirSync(home)
  const tar = zstdDecompressSync(readFileSync(archive))
  execFileSync('tar', ['--extract', '--no-same-owner', '--directory', home], { input: tar })
  // Postgres refuses to start if these are accessible to others, whatever the umask is.
  assert.equal(statSync(homeLayout(home).postgres).mode & 0o077, 0)
}

const rows = async (query: string): Promise<unknown[][]> => await sqlRows(router, query)
const author = (entry: { auditInfo: { author: string; comment: string } }) => entry.auditInfo

test('the store has every migration, and newer ones were applied in order', async () => {
  const applied = await store.query<{ name: string }>(
    sql`SELECT name FROM schema_migrations ORDER BY run_on, id`,
  )
  const names = applied.map(({ name }) => name)
  assert.deepEqual(names, knownMigrations())
  assert.ok(
    names.length > names.indexOf(lastMigrationThen) + 1,
    'the archive is already at the current version',
  )
})

test('rules are unchanged, with their history', async () => {
  const visits = '/svc/coordinator/v1/rules/visits'
  const loadForever = {
    type: 'loadForever',
    tieredReplicants: { _default_tier: 1 },
    useDefaultTierForNull: true,
  }
  const all = await router.get<Record<string, unknown>>('/svc/coordinator/v1/rules')
  assert.deepEqual(all, {
    _default: [loadForever],
    visits: [{ type: 'dropBeforeByPeriod', period: 'P100Y' }, loadForever],
  })
  const history = await router.get<{ key: string; auditInfo: { author: string; comment: string } }[]>(
    // Without an interval or a count, the history is that of the last week.
    `${visits}/history?count=10`,
  )
  assert.deepEqual(
    history.map((entry) => [author(entry).author, author(entry).comment]),
    [['maker', 'of before']],
  )
})

test('the configurations of the coordinator and of compaction are unchanged', async () => {
  const config = await router.get<Record<string, unknown>>('/svc/coordinator/v1/config')
  assert.equal(config.maxSegmentsToMove, 7)
  const compaction = '/svc/coordinator/v1/config/compaction/visits'
  const { taskPriority, skipOffsetFromLatest } = await router.get<Record<string, unknown>>(compaction)
  assert.deepEqual(
    { taskPriority, skipOffsetFromLatest },
    { taskPriority: 33, skipOffsetFromLatest: 'P100Y' },
  )
  const history = await router.get<{ auditInfo: { author: string; comment: string } }[]>(
    `${compaction}/history`,
  )
  assert.deepEqual(
    history.map((entry) => author(entry).comment),
    ['of before'],
  )
})

test('segments are served from the existing cache, and unused segments stay unused', async () => {
  await untilLoaded(router)
  const stored = [
    ...(await storedSegments(store, 'visits')),
    ...(await storedSegments(store, flights.dataSource)),
  ]
  const used = stored.filter((segment) => segment.used).map(({ id }) => id)
  // Two days, one of them compacted, and three months.
  assert.equal(used.length, 5)
  assert.equal(
    stored.filter((segment) => segment.id.startsWith('visits_2026-01-03') && !segment.used).length,
    1,
  )
  await waitUntil(
    'exactly the used segments are served',
    () => servedBy(cluster, 'historical-1'),
    (served) => served.join() === used.sort().join(),
  )
  const startedAt = statSync(commonPropertiesFile(cluster.home)).mtimeMs
  for (const { id, file } of cachedSegments(cluster, 'historical-1'))
    assert.ok(statSync(file).mtimeMs < startedAt, `${id} was copied again`)
})

test('compacted segments count as compacted', async () => {
  const segments = await router.get<{ interval: string; lastCompactionState?: object | null }[]>(
    '/svc/coordinator/v1/metadata/segments?datasources=visits',
  )
  assert.deepEqual(
    segments.map(({ interval, lastCompactionState }) => [
      interval.slice(0, 10),
      Boolean(lastCompactionState),
    ]),
    [
      ['2026-01-01', true],
      ['2026-01-02', false],
    ],
  )
})

test('queries return the data with its columns', async () => {
  assert.deepEqual(await rows('SELECT count(*) FROM flights'), [[flights.rows]])
  // Eight rows of two tasks, compacted into one segment, and six that were not.
  assert.deepEqual(await rows('SELECT count(*), sum(n), max(page) FROM visits'), [[14, 42, 'p6']])
  assert.deepEqual(
    await rows("SELECT count(*) FROM visits WHERE __time >= '2026-01-01' AND __time < '2026-01-02'"),
    [[8]],
  )
})

test('users log in with their passwords and permissions', async () => {
  const as = async (credentials: string, path: string) => (await router.send({ path, credentials })).status
  const analyst = credentialsOf('analyst')
  assert.equal(await as(analyst, '/svc/coordinator/v1/datasources/flights'), 200)
  assert.equal(await as(analyst, '/svc/coordinator/v1/datasources/visits'), 403)
  assert.equal(await as('analyst:another', '/svc/coordinator/v1/datasources/flights'), 401)
  const audit = await cluster.at('coordinator').get<{ payload: unknown }[]>('/svc-ext/basic-security/audit')
  assert.ok(JSON.stringify(audit).includes('analyst'))
})

test('tasks have their final states', async () => {
  for (const id of ['visits-first', 'visits-second', 'visits-compacted']) {
    const { status } = await router.get<{ status: { statusCode: string; dataSource: string } }>(
      `/svc/indexer/v1/task/${id}/status`,
    )
    assert.deepEqual([status.statusCode, status.dataSource], ['SUCCESS', 'visits'])
  }
})

test('work continues: rows are added, days marked as used again, users and rules changed', async () => {
  const spec = {
    dataSchema: {
      dataSource: 'visits',
      timestampSpec: { column: 't' },
      dimensionsSpec: { dimensions: ['page', { type: 'long', name: 'n' }] },
      granularitySpec: { segmentGranularity: 'DAY', rollup: false },
    },
    ioConfig: {
      type: 'index_parallel',
      inputSource: { type: 'inline', data: '{"t":"2026-01-02T13:00:00Z","page":"p9","n":100}' },
      inputFormat: { type: 'json' },
      appendToExisting: true,
    },
  }
  await runTask(router, { type: 'index_parallel', spec })
  await router.post('/svc/coordinator/v1/datasources/visits/markUsed', { interval: '2026-01-03/2026-01-04' })
  // Seven rows of the third day, which was unused until now.
  await waitUntil(
    'queries return new and old rows together',
    () => rows('SELECT count(*), sum(n), max(page) FROM visits'),
    ([row]) => JSON.stringify(row) === JSON.stringify([14 + 1 + 7, 42 + 100 + 28, 'p9']),
  )
  const authorization = '/svc-ext/basic-security/authorization/db/MyBasicMetadataAuthorizer'
  const permissions = [{ resource: { type: 'DATASOURCE', name: 'visits' }, action: 'READ' }]
  await cluster.at('coordinator').post(`${authorization}/roles/analyst/permissions`, permissions)
  const allowed = { path: '/svc/coordinator/v1/datasources/visits', credentials: credentialsOf('analyst') }
  assert.equal((await router.send(allowed)).status, 200)
})

test('a reset returns to the data with which the cluster started', async () => {
  await resetCluster(router)
  await untilLoaded(router)
  assert.deepEqual(await rows('SELECT count(*) FROM visits'), [[14]])
  assert.deepEqual(await rows('SELECT count(*) FROM flights'), [[flights.rows]])
})
