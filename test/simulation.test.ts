// To everyone else, virtual servers behave like other servers: rules take effect through everyone's queues and
// reports, even if loads fail, servers that leave are drained, and replicas are spread evenly.

import assert from 'node:assert/strict'
import path from 'node:path'
import { after, test } from 'node:test'
import { pickPortOffset, startCluster } from '@svc/cli/cluster'
import { payloadOf, type Segment, segmentId, virtualLoadSpec } from '@svc/domain/segment'
import { copySegments, loadStoredSegments } from '@svc/shared/postgres'
import { createHttpClient, waitUntil } from '@svc/shared/testing'
import { querySql, sqlRows } from './support/sql.ts'
import { runSvc } from './support/svc-command.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

const dataSource = 'simulated'
const count = 600
const sizeBytes = 1_000_000
const groups = [
  { count: 5, tier: 'hot', size: '250m', loadBytesPerSecond: '1g', failureProbability: 0.1 },
  { count: 3, tier: '_default_tier', size: '900m', loadBytesPerSecond: '1g' },
]
const cluster = await startTestCluster({
  profile: 'secure',
  set: [
    'svc.simulation.enabled=true',
    `historical.svc.simulation.virtualServers=${JSON.stringify(groups)}`,
    'coordinator.svc.coordinator.period=PT0.5S',
    'svc.compaction.period=PT0.5S',
    'overlord.svc.simulation.compactionDuration=PT0.05S',
  ],
})
after(() => cluster.end())
const { router, store } = cluster

interface Server {
  readonly host: string
  readonly tier: string
  readonly type: string
  readonly currSize: number
  readonly maxSize: number
}
const historicals = async (): Promise<Server[]> =>
  (await router.get<Server[]>('/svc/coordinator/v1/servers?simple')).filter(
    ({ type }) => type === 'historical',
  )
const heldIn = (servers: readonly Server[], tier: string): number =>
  servers.filter((server) => server.tier === tier).reduce((sum, { currSize }) => sum + currSize, 0) /
  sizeBytes
const setRules = (tieredReplicants: Record<string, number>) =>
  router.post(`/svc/coordinator/v1/rules/${dataSource}`, [{ type: 'loadForever', tieredReplicants }])
const untilHeld = (hot: number, standard: number) =>
  waitUntil(
    `the tiers have ${hot} and ${standard} replicas`,
    historicals,
    (servers) => heldIn(servers, 'hot') === hot && heldIn(servers, '_default_tier') === standard,
  )

function segment(number: number): Segment {
  const dayMs = 86_400_000
  const interval = { start: number * dayMs, end: (number + 1) * dayMs }
  const key = { dataSource, interval, version: '2026-01-01T00:00:00.000Z', partitionNum: 0 }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes, totalRows: 1 }
}

test('announces every virtual server separately', async () => {
  const servers = await waitUntil('all servers are listed', historicals, ({ length }) => length === 8)
  assert.equal(new Set(servers.map(({ host }) => host)).size, 8)
  assert.deepEqual(servers.map(({ tier }) => tier).sort(), [
    ...Array.from({ length: 3 }, () => '_default_tier'),
    ...Array.from({ length: 5 }, () => 'hot'),
  ])
})

test('rules load segments on them despite failures', async () => {
  await setRules({ hot: 1, _default_tier: 2 })
  const stored = Array.from({ length: count }, (_, number) => {
    const one = segment(number)
    return {
      segment: one,
      payload: payloadOf(one, { loadSpec: virtualLoadSpec, dimensions: 'page', metrics: '' }),
    }
  })
  await store.transaction((transaction) => copySegments(transaction, stored, undefined, 0))
  const servers = await untilHeld(count, 2 * count)
  assert.ok(servers.every(({ currSize, maxSize }) => currSize <= maxSize))
  assert.deepEqual(await router.get('/svc/coordinator/v1/loadstatus?full'), {
    hot: { [dataSource]: 0 },
    _default_tier: { [dataSource]: 0 },
  })
  await waitUntil(
    'brokers see the segments that they serve',
    () => router.get<{ segmentCount: number }>('/svc/broker/v1/loadstatus'),
    ({ segmentCount }) => segmentCount === count,
  )
})

test('refuses queries on them, because they have no rows, and answers queries on system tables', async () => {
  const answer = await querySql(router, `SELECT count(*) FROM "${dataSource}"`)
  assert.equal(answer.status, 409)
  assert.match(answer.text, /has virtual segments such as \[.*\]\. Virtual segments have no rows/)
  assert.deepEqual(await sqlRows(router, 'SELECT count(*) FROM sys.segments WHERE is_active = 1'), [[count]])
  assert.deepEqual(
    await sqlRows(router, `SELECT 1 FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = '${dataSource}'`),
    [],
  )
})

test('system tables list every virtual server and its segments', async () => {
  const servers = await historicals()
  const rows = await sqlRows(
    router,
    `SELECT server, tier, curr_size, max_size, server_type FROM sys.servers WHERE server_type = 'historical' ORDER BY server`,
  )
  assert.deepEqual(
    rows,
    servers
      .map(({ host, tier, currSize, maxSize, type }) => [host, tier, currSize, maxSize, type])
      .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  )
  assert.deepEqual(
    await sqlRows(router, 'SELECT server_type, count(*) FROM sys.servers GROUP BY 1 ORDER BY 1'),
    [
      ['broker', 1],
      ['coordinator', 1],
      ['historical', 8],
      ['overlord', 1],
      ['router', 1],
    ],
  )
  assert.deepEqual(
    await sqlRows(
      router,
      `SELECT server, sum(size) FROM sys.servers JOIN sys.server_segments USING (server)
       JOIN sys.segments USING (segment_id) GROUP BY 1 ORDER BY 1`,
    ),
    rows.map(([server, , size]) => [server, size]),
  )
  assert.deepEqual(
    await sqlRows(router, 'SELECT min(num_replicas), max(num_replicas), count(*) FROM sys.segments'),
    [[3, 3, count]],
  )
})

test('servers can be added and removed, and the leader knows immediately', async () => {
  const path = '/svc/historical/v1/virtualServers'
  const process = cluster.at('historical-1')
  const before = await process.get<object[]>(path)
  assert.deepEqual(
    before.map((group) => ({ ...group, size: 0 })),
    [
      {
        count: 5,
        type: 'historical',
        tier: 'hot',
        priority: 0,
        size: 0,
        loadBytesPerSecond: 1e9,
        failureProbability: 0.1,
      },
      {
        count: 3,
        type: 'historical',
        tier: '_default_tier',
        priority: 0,
        size: 0,
        loadBytesPerSecond: 1e9,
        failureProbability: 0,
      },
    ],
  )
  const names = async () => (await historicals()).map(({ host }) => host).sort()
  const known = await names()
  await process.post(path, [...before, { count: 2, tier: 'cold', size: '1g' }])
  assert.deepEqual(
    (await names()).filter((name) => !known.includes(name)),
    [1, 2].map((number) => `${cluster.nameOf('historical-1')}-cold-${number}`),
  )
  await process.post(path, before)
  assert.deepEqual(await names(), known)
  assert.equal(heldIn(await historicals(), 'hot'), count, 'the other servers lost segments')

  const bad = [
    {},
    [{ count: 0, size: '1g' }],
    [{ count: 1 }],
    [{ count: 1, size: '-1' }],
    [...before, before[0]],
  ]
  for (const json of bad) {
    const { status, text } = await process.send({ method: 'POST', path, json })
    assert.equal(status, 400, text)
    assert.match(text, /Invalid value .* for \[body\]: expected a JSON list/)
  }
  assert.deepEqual(await names(), known)
  assert.equal((await process.send({ path, credentials: null })).status, 401)
})

test('a server that leaves is drained, and refilled evenly when it returns', async () => {
  const [leaving] = (await historicals()).filter(({ tier }) => tier === '_default_tier')
  assert.ok(leaving)
  const setLeaving = (decommissioningNodes: string[]) =>
    router.post('/svc/coordinator/v1/config', { decommissioningNodes })
  await setRules({ hot: 0, _default_tier: 1 })
  await untilHeld(0, count)
  await setLeaving([leaving.host])
  await waitUntil('it is empty', historicals, (servers) => {
    const own = servers.find(({ host }) => host === leaving.host)
    return own?.currSize === 0 && heldIn(servers, '_default_tier') === count
  })
  await setLeaving([])
  await waitUntil('all servers have the same number of segments', historicals, (servers) => {
    const fills = servers
      .filter(({ tier }) => tier === '_default_tier')
      .map(({ currSize, maxSize }) => currSize / maxSize)
    return heldIn(servers, '_default_tier') === count && Math.max(...fills) - Math.min(...fills) < 0.05
  })
})

test('virtual segments are compacted by ordinary tasks, and the results are served instead', async () => {
  await router.post('/svc/coordinator/v1/config/compaction/taskslots?ratio=1', {})
  await router.post('/svc/coordinator/v1/config/compaction', {
    dataSource,
    skipOffsetFromLatest: 'PT0S',
    granularitySpec: { segmentGranularity: 'YEAR' },
  })
  // From 1970 on: two years, the second one incomplete.
  const years = await waitUntil(
    'only the yearly segments are used',
    () => loadStoredSegments(store, { dataSource, used: true }),
    ({ length }) => length === 2,
  )
  assert.deepEqual(
    years.map(({ totalRows, sizeBytes: bytes }) => [totalRows, bytes]),
    [
      [365, 365 * sizeBytes],
      [count - 365, (count - 365) * sizeBytes],
    ],
  )
  await untilHeld(0, count)
})

test('unused segments are removed from the servers', async () => {
  await router.post(`/svc/coordinator/v1/rules/${dataSource}`, [{ type: 'dropForever' }])
  await untilHeld(0, 0)
})

test('a kept simulation restarts with its servers, and cannot be created twice', async () => {
  const folder = newTestFolder()
  after(() => removeTestFolder(folder))
  const home = path.join(folder, 'kept')
  const simulate = () =>
    runSvc(
      ...['simulate', '--home', home, '--servers', '3', '--segments', '24000', '--datasources', '2'],
      ...['--load-bytes-per-second', '4TiB', '--kill-leader', '--json'],
    )
  const created = await simulate()
  assert.equal(created.status, 0, created.stderr)
  const { takeover } = JSON.parse(created.stdout) as {
    takeover: Record<'leadsSeconds' | 'knowsAllSeconds' | 'decidedSeconds' | 'copiesLoadedAgain', number>
  }
  assert.ok(takeover.leadsSeconds > 0 && takeover.knowsAllSeconds >= takeover.leadsSeconds)
  assert.ok(takeover.decidedSeconds >= takeover.knowsAllSeconds)
  // Server inventories take several reports, and the leader waits for all of them.
  assert.equal(takeover.copiesLoadedAgain, 0)
  const again = await simulate()
  assert.equal(again.status, 2)
  assert.match(again.stderr, /^svc: Home \[.*kept\] already exists, but a simulation creates a new one/)
  const kept = await startCluster({ home, portOffset: await pickPortOffset(), profile: 'secure' })
  const client = createHttpClient(kept.routerUrl, {
    trusted: kept.trusted,
    credentials: `admin:${kept.adminPassword}`,
  })
  try {
    await waitUntil(
      'its segments are served',
      () => client.get<Record<string, number>>('/svc/coordinator/v1/loadstatus'),
      (loaded) => Object.keys(loaded).length === 2 && Object.values(loaded).every((share) => share === 100),
    )
  } finally {
    client.close()
    await kept.stop()
  }
})
