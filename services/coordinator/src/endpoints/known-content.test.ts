// What the endpoints for servers, tiers, datasources, intervals, and metadata return for a cluster with known content, and
// what changes when segments are marked and the configuration is changed.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { payloadOf, type Segment, segmentId } from '@svc/domain/segment'
import { formatInstant, formatInterval } from '@svc/domain/time'
import { ensureDefaultRules, saveRules, sql } from '@svc/shared/postgres'
import { segmentMarkingRoutes } from '@svc/shared/segment-marking'
import { ReportLog, ServedSegments, type ServerReport } from '@svc/shared/segment-serving'
import {
  createTestContext,
  createTestStores,
  httpRequest,
  loadAudit,
  serverReport,
  storeSegments,
  type TestContext,
} from '@svc/shared/testing'
import type { ClusterView } from '../cluster-view.ts'
import { createSegmentInventory, followRules, ServerInventory } from '../inventory/index.ts'
import { clusterRoutes } from './cluster.ts'
import { datasourceRoutes } from './datasources.ts'
import { dynamicConfigRoutes } from './dynamic-config.ts'
import { killIntervalRoute } from './kill-interval.ts'
import { metadataRoutes } from './metadata.ts'
import { firstDefaultRules } from './rules.ts'
import { serverRoutes } from './servers.ts'

const stores = await createTestStores({ after })
const { database } = stores
const context = await createTestContext({ after }, stores, 'coordinator')
const rules = followRules(database)
const inventory = createSegmentInventory(database)
let refreshes = 0
const segments = {
  ...inventory,
  refresh: () => {
    refreshes += 1
    return inventory.refresh()
  },
}
const servers = new ServerInventory(60_000, {}, segments.table)
const leadership = { term: () => 1 }
const base = '/svc/coordinator/v1'
const dayMs = 86_400_000

before(async () => {
  await rules.start()
  await serve({ context, segments, servers })
})

const sumsOf = (server: string) => (server === 'hot:1' ? { ms: 2000, segments: 8, bytes: 6000 } : undefined)
const rateOf = (server: string) => (server === 'hot:1' ? { msPerSegment: 50, msPerByte: 1 / 4 } : undefined)

async function serve(
  given: Pick<ClusterView, 'segments' | 'servers'> & { readonly context: TestContext },
): Promise<void> {
  const view = { ...given, leadership, rules, dutyGroups: [] }
  await given.context.serve({
    routes: [
      ...clusterRoutes(view),
      ...serverRoutes(view, { rateOf, sumsOf }),
      ...datasourceRoutes(view),
      ...metadataRoutes(view),
      ...dynamicConfigRoutes(given.context),
      ...segmentMarkingRoutes(given.context, base),
      killIntervalRoute(given.context),
    ],
  })
}

function segment(dataSource: string, day: number, more: Partial<Segment> = {}): Segment {
  const interval = { start: day * dayMs, end: (day + 1) * dayMs }
  const key = { dataSource, interval, version: 'v1', partitionNum: 0, ...more }
  return { partitions: 1, sizeBytes: 10, totalRows: 5, ...key, id: segmentId(key) }
}
const payload = (one: Segment) =>
  payloadOf(one, {
    loadSpec: { type: 'local', path: 'x', checksum: 'sha256:00' },
    dimensions: '',
    metrics: '',
  })

const wiki1a = segment('wiki', 1, { partitions: 2, sizeBytes: 100 })
const wiki1b = segment('wiki', 1, { partitions: 2, partitionNum: 1, sizeBytes: 200 })
const wiki2 = segment('wiki', 2, { sizeBytes: 1000 })
const wiki3 = segment('wiki', 3, { sizeBytes: 10_000 })
const koalas1 = segment('koalas', 1, { sizeBytes: 7 })
const koalas9 = segment('koalas', 9, { sizeBytes: 70 })
const all = [wiki1a, wiki1b, wiki2, wiki3, koalas1, koalas9]
const days = (first: number, last = first) =>
  formatInterval({ start: first * dayMs, end: (last + 1) * dayMs })

// No server serves wiki3, and only a broker serves koalas9.
const content = {
  'hot:1': { type: 'historical', tier: 'hot', maxSizeBytes: 5000, served: [wiki1a, wiki2] },
  'cold:1': { type: 'historical', tier: 'cold', maxSizeBytes: 3000, served: [wiki1a, wiki1b, koalas1] },
  'cold:2': { type: 'historical', tier: 'cold', maxSizeBytes: 3000, served: [wiki1a] },
  'broker:1': { type: 'broker', tier: '_default_tier', maxSizeBytes: 500, served: [koalas9] },
} as const
const usedSizeOf = (served: readonly Segment[]) => served.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)

function reportOf(name: keyof typeof content): ServerReport {
  const { served, ...server } = content[name]
  return serverReport(name, {
    ...new ReportLog(new ServedSegments()).next(),
    ...server,
    usedSizeBytes: usedSizeOf(served),
    segments: served.map(({ id }) => id),
  })
}

/** Resets the cluster to its known content. */
async function setUp(): Promise<void> {
  for (const table of [sql`segments`, sql`rules`, sql`dynamic_configs`, sql`audit`, sql`tasks`])
    await database.query(sql`DELETE FROM ${table}`)
  await ensureDefaultRules(database, firstDefaultRules)
  const wikiRules = [
    { type: 'loadByInterval', interval: days(1, 2), tieredReplicants: { hot: 1, cold: 2 } },
    { type: 'loadForever', tieredReplicants: { cold: 1 } },
  ]
  const audit = { author: '', comment: '', identity: '', ip: '' }
  await saveRules(database, 'wiki', JSON.stringify(wikiRules), audit, 0)
  const koalasRules = [{ type: 'loadForever', tieredReplicants: { cold: 1 } }]
  await saveRules(database, 'koalas', JSON.stringify(koalasRules), audit, 0)
  rules.invalidate()
  await storeSegments(database, all)
  servers.reset()
  await segments.refresh()
  report(servers)
}

function report(to: ServerInventory): void {
  const names = Object.keys(content) as (keyof typeof content)[]
  assert.deepEqual(to.take(names.map(reportOf), 1, performance.now()), {
    term: 1,
    resync: [],
    voidUntilMs: {},
  })
}

const requestAt = (path: string, method = 'GET', body?: unknown) =>
  httpRequest(context.port, { path: base + path, method, ...(body === undefined ? {} : { body }) })
/** Returns the body of a response. Long lists are sent in pieces but must be the same JSON. */
const text = async (path: string) => {
  const answer = await requestAt(path)
  assert.equal(answer.status, 200, `${path}: ${answer.text}`)
  assert.match(answer.headers['content-type'] ?? '', /^application\/json; charset=utf-8$/)
  return answer.text
}
const payloads = (list: readonly Segment[]) => list.map(payload)
const byId = (list: readonly Segment[]) => Object.fromEntries(list.map((one) => [one.id, payload(one)]))
const described = (host: keyof typeof content) => {
  const { type, tier, maxSizeBytes: maxSize, served } = content[host]
  return { host, tier, type, priority: 0, currSize: usedSizeOf(served), maxSize }
}
const inOrder = ['cold:1', 'cold:2', 'hot:1', 'broker:1'] as const
const withServers = (one: Segment, ...names: string[]) => ({ metadata: payload(one), servers: names })
const wikiDescribed = {
  tiers: {
    cold: { size: 300, replicatedSize: 400, segmentCount: 2 },
    hot: { size: 1100, replicatedSize: 1100, segmentCount: 2 },
  },
  segments: {
    maxTime: formatInstant(3 * dayMs),
    size: 1300,
    minTime: formatInstant(dayMs),
    count: 3,
    replicatedSize: 1500,
  },
}
const koalasDescribed = {
  tiers: { cold: { size: 7, replicatedSize: 7, segmentCount: 1 } },
  segments: {
    maxTime: formatInstant(10 * dayMs),
    size: 77,
    minTime: formatInstant(dayMs),
    count: 2,
    replicatedSize: 7,
  },
}
const path = (interval: string) => interval.replace('/', '_')
const fullOf = (name: string, list: readonly Segment[]) => ({
  name,
  properties: {},
  segments: payloads(list),
})

const expected: Record<string, unknown> = {
  '/servers': inOrder,
  '/servers?simple': inOrder.map(described),
  '/servers?full': inOrder.map((name) => ({ ...described(name), segments: byId(content[name].served) })),
  '/servers/hot:1': { ...described('hot:1'), segments: byId([wiki1a, wiki2]) },
  '/servers/hot:1?simple': described('hot:1'),
  '/servers/cold:2/segments?full': payloads([wiki1a]),
  [`/servers/hot:1/segments/${wiki2.id}`]: payload(wiki2),
  '/tiers': ['cold', 'hot'],
  '/tiers?simple': { cold: { currSize: 407, maxSize: 6000 }, hot: { currSize: 1100, maxSize: 5000 } },
  '/tiers/cold': ['koalas', 'wiki'],
  '/tiers/hot?simple': { wiki: { [days(2)]: { size: 1000, count: 1 }, [days(1)]: { size: 100, count: 1 } } },
  '/tiers/cold?simple': {
    koalas: { [days(1)]: { size: 7, count: 1 } },
    // wiki1a has two replicas in this tier.
    wiki: { [days(1)]: { size: 400, count: 3 } },
  },
  '/tiers/none': [],
  '/datasources': ['koalas', 'wiki'],
  '/datasources?simple': [
    { name: 'koalas', properties: koalasDescribed },
    { name: 'wiki', properties: wikiDescribed },
  ],
  '/datasources?full': [fullOf('koalas', [koalas1, koalas9]), fullOf('wiki', [wiki1a, wiki1b, wiki2])],
  '/datasources/wiki': wikiDescribed,
  '/datasources/wiki?full': fullOf('wiki', [wiki1a, wiki1b, wiki2]),
  '/datasources/wiki/tiers': ['cold', 'hot'],
  '/datasources/wiki/intervals': [days(2), days(1)],
  '/datasources/wiki/intervals?simple': {
    [days(2)]: { size: 1000, count: 1 },
    [days(1)]: { size: 300, count: 2 },
  },
  '/datasources/wiki/intervals?full': {
    [days(2)]: { [wiki2.id]: withServers(wiki2, 'hot:1') },
    [days(1)]: {
      [wiki1b.id]: withServers(wiki1b, 'cold:1'),
      [wiki1a.id]: withServers(wiki1a, 'cold:1', 'cold:2', 'hot:1'),
    },
  },
  [`/datasources/wiki/intervals/${path(days(1))}`]: [wiki1a.id, wiki1b.id],
  [`/datasources/wiki/intervals/${path(days(2, 8))}?simple`]: { [days(2)]: { size: 1000, count: 1 } },
  [`/datasources/wiki/intervals/${path(days(2, 8))}?full`]: {
    [days(2)]: { [wiki2.id]: withServers(wiki2, 'hot:1') },
  },
  [`/datasources/wiki/intervals/${path(days(7, 8))}`]: [],
  [`/datasources/wiki/intervals/${path(days(1).replace('T00:', 'T01:'))}`]: [],
  '/datasources/wiki/segments': [wiki1a.id, wiki1b.id, wiki2.id],
  '/datasources/wiki/segments?full': payloads([wiki1a, wiki1b, wiki2]),
  [`/datasources/wiki/segments/${wiki1a.id}`]: withServers(wiki1a, 'cold:1', 'cold:2', 'hot:1'),
  '/intervals': {
    [days(9)]: { koalas: { size: 70, count: 1 } },
    [days(2)]: { wiki: { size: 1000, count: 1 } },
    [days(1)]: { wiki: { size: 300, count: 2 }, koalas: { size: 7, count: 1 } },
  },
  '/intervals?full': {
    [days(9)]: { koalas: { [koalas9.id]: withServers(koalas9, 'broker:1') } },
    [days(2)]: { wiki: { [wiki2.id]: withServers(wiki2, 'hot:1') } },
    [days(1)]: {
      wiki: {
        [wiki1b.id]: withServers(wiki1b, 'cold:1'),
        [wiki1a.id]: withServers(wiki1a, 'cold:1', 'cold:2', 'hot:1'),
      },
      koalas: { [koalas1.id]: withServers(koalas1, 'cold:1') },
    },
  },
  [`/intervals/${path(days(1, 2))}`]: { size: 1307, count: 4 },
  [`/intervals/${path(days(1, 2))}?simple`]: {
    [days(2)]: { size: 1000, count: 1 },
    [days(1)]: { size: 307, count: 3 },
  },
  [`/intervals/${path(days(1, 2))}?simple&full`]: {
    [days(2)]: { wiki: { size: 1000, count: 1 } },
    [days(1)]: { wiki: { size: 300, count: 2 }, koalas: { size: 7, count: 1 } },
  },
  [`/intervals/${path(days(2, 8))}?full`]: {
    [days(2)]: { wiki: { size: 1000, count: 1 } },
  },
  [`/intervals/${path(days(7, 8))}`]: { size: 0, count: 0 },
  '/metadata/datasources': ['koalas', 'wiki'],
  '/metadata/datasources?full&includeUnused': ['koalas', 'wiki'],
  '/metadata/datasources?full': [
    fullOf('koalas', [koalas1, koalas9]),
    fullOf('wiki', [wiki1a, wiki1b, wiki2, wiki3]),
  ],
  '/metadata/datasources/wiki': fullOf('wiki', [wiki1a, wiki1b, wiki2, wiki3]),
  '/metadata/segments': payloads([koalas1, koalas9, wiki1a, wiki1b, wiki2, wiki3]),
  '/metadata/segments?datasources=koalas': payloads([koalas1, koalas9]),
  '/metadata/segments?datasources=none': [],
  '/metadata/segments?datasources=none&includeOvershadowedStatus&includeRealtimeSegments': [],
  '/metadata/segments?datasources=wiki&includeOvershadowedStatus': [
    ...[wiki1a, wiki1b, wiki2].map((one) => ({ one, replicationFactor: 3 })),
    { one: wiki3, replicationFactor: 1 },
  ].map(({ one, replicationFactor }) => ({
    overshadowed: false,
    replicationFactor,
    numRows: 5,
    realtime: false,
    ...payload(one),
  })),
  '/metadata/datasources/wiki/segments': [wiki1a.id, wiki1b.id, wiki2.id, wiki3.id],
  '/metadata/datasources/koalas/segments?full': payloads([koalas1, koalas9]),
  '/loadstatus': { wiki: 75, koalas: 50 },
  '/loadstatus?simple': { wiki: 1, koalas: 1 },
  // The cold tier lacks one replica of wiki1b, two of wiki2, and one of wiki3.
  // No rule requires koalas in the hot tier.
  '/loadstatus?full': { hot: { wiki: 1 }, cold: { wiki: 4, koalas: 1 } },
  '/loadstatus?full&computeUsingClusterView': { hot: { wiki: 1 }, cold: { wiki: 4, koalas: 1 } },
  '/datasources/koalas/loadstatus?full': { cold: { koalas: 1 } },
  '/datasources/wiki/loadstatus?forceMetadataRefresh=true': { wiki: 75 },
  [`/datasources/wiki/loadstatus?forceMetadataRefresh=true&interval=${path(days(2, 3))}`]: { wiki: 50 },
  [`/datasources/wiki/loadstatus?interval=${encodeURIComponent(days(2))}`]: { wiki: 100 },
  [`/datasources/wiki/loadstatus?simple&interval=${path(days(3))}`]: { wiki: 1 },
  [`/datasources/wiki/loadstatus?full&interval=${path(days(3))}`]: { cold: { wiki: 1 } },
}

describe('a cluster with known content', () => {
  before(setUp)

  for (const [requestedPath, answer] of Object.entries(expected))
    it(`answers ${requestedPath}`, async () => {
      refreshes = 0
      const found = await text(requestedPath)
      assert.ok(refreshes <= 1, `The segments were refreshed [${refreshes}] times`)
      if (requestedPath.startsWith('/loadstatus')) assert.deepEqual(JSON.parse(found), answer)
      else assert.equal(found, JSON.stringify(answer))
    })

  for (const requestedPath of [
    '/datasources/none',
    '/datasources/none/intervals',
    '/datasources/none/segments?full',
    `/datasources/wiki/loadstatus?interval=${path(days(5, 6))}`,
  ])
    it(`has no content for ${requestedPath}`, async () => {
      const { status, text: body } = await requestAt(requestedPath)
      assert.deepEqual([status, body], [204, ''])
    })

  for (const requestedPath of ['/metadata/datasources/none', '/metadata/datasources/none/segments'])
    it(`does not find ${requestedPath}`, async () => {
      assert.equal((await requestAt(requestedPath)).status, 404)
    })

  it('lists realtime segments only with the status of segments', async () => {
    const { status, text: answer } = await requestAt('/metadata/segments?includeRealtimeSegments')
    assert.equal(status, 400)
    assert.match(answer, /\[includeRealtimeSegments\] is only allowed with \[includeOvershadowedStatus\]/)
  })

  for (const [method, requestedPath, body] of [
    ['GET', '/metadata/datasources/wiki/segments/nosuch', undefined],
    ['GET', `/metadata/datasources/wiki/segments/${koalas1.id}`, undefined],
    ['GET', `/metadata/datasources/wiki/unusedSegments?lastSegmentId=${koalas1.id}`, undefined],
    ['POST', '/datasources/wiki/segments/nosuch', undefined],
    ['DELETE', `/datasources/wiki/segments/${koalas1.id}`, undefined],
    ['POST', '/datasources/wiki/markUsed', { segmentIds: [wiki1a.id, 'nosuch'] }],
    ['POST', '/datasources/wiki/markUnused', { segmentIds: [wiki1a.id, 'nosuch'] }],
  ] as const)
    it(`rejects ${method} ${requestedPath} with an ID of another datasource or none`, async () => {
      const { status, text: answer } = await requestAt(requestedPath, method, body)
      assert.equal(status, 400)
      assert.match(
        answer,
        /Invalid value \[.*\] for \[(segment(Ids)?|lastSegmentId)\]: expected the ID of a segment of datasource \[wiki\]/,
      )
    })

  it('lists the IDs of the segments on a server in any order', async () => {
    const ids = JSON.parse(await text('/servers/cold:1/segments')) as string[]
    assert.deepEqual(ids.sort(), [koalas1, wiki1a, wiki1b].map(({ id }) => id).sort())
  })
})

describe('a new leader', () => {
  before(setUp)

  for (const requestedPath of ['/datasources', '/datasources/wiki', '/intervals', '/tiers/cold'])
    it(`answers ${requestedPath} before anything else has refreshed the segments`, async (test) => {
      const leading = await createTestContext(test, stores, 'coordinator')
      const own = createSegmentInventory(database)
      const reported = new ServerInventory(60_000, {}, own.table)
      report(reported)
      await serve({ context: leading, segments: own, servers: reported })
      const { json } = await httpRequest(leading.port, { path: base + requestedPath })
      assert.deepEqual(json, expected[requestedPath])
    })
})

describe('a change of the cluster', () => {
  beforeEach(setUp)

  it('shows pending requests in the load queues', async () => {
    const request = (action: 'load' | 'drop', sizeBytes = 0) => ({
      action,
      sizeBytes,
      sentAtMs: performance.now(),
    })
    servers.note(
      'cold:2',
      new Map([
        [wiki1b.id, request('load', 200)],
        [wiki1a.id, request('drop')],
      ]),
    )
    servers.note(
      'hot:1',
      new Map([
        [wiki1b.id, request('load', 200)],
        [wiki3.id, request('load', 10_000)],
      ]),
    )
    const counts = (loads: number, drops: number, size: number, expectedLoadTimeMillis = 0) => ({
      segmentsToLoad: loads,
      segmentsToDrop: drops,
      segmentsToLoadSize: size,
      segmentsToDropSize: 0,
      expectedLoadTimeMillis,
    })
    assert.deepEqual((await requestAt('/loadqueue?simple')).json, {
      'cold:1': counts(0, 0, 0),
      'cold:2': counts(1, 1, 200),
      'hot:1': counts(2, 0, 10_200, 2 * 50 + 10_200 / 4),
      'broker:1': counts(0, 0, 0),
    })
    const idle = { bytesPerSecond: null, segmentsPerSecond: null, failedLoads: 0, lastError: null }
    assert.deepEqual((await requestAt('/servers/activity')).json, {
      'cold:1': idle,
      'cold:2': idle,
      'hot:1': { ...idle, bytesPerSecond: 3000, segmentsPerSecond: 4 },
      'broker:1': idle,
    })
    const queues = (await requestAt('/loadqueue')).json as Record<
      string,
      Record<'segmentsToLoad' | 'segmentsToDrop', string[]>
    >
    assert.deepEqual(queues['cold:2'], { segmentsToLoad: [wiki1b.id], segmentsToDrop: [wiki1a.id] })
    assert.deepEqual(queues['hot:1']?.segmentsToLoad.sort(), [wiki1b.id, wiki3.id].sort())
  })

  it('requires a replica on each historical for segments of a broadcast rule', async () => {
    const audit = { author: '', comment: '', identity: '', ip: '' }
    await saveRules(database, 'wiki', '[{"type":"broadcastForever"}]', audit, 0)
    rules.invalidate()
    const shown = JSON.parse(await text('/metadata/segments?datasources=wiki&includeOvershadowedStatus'))
    assert.deepEqual(
      (shown as { replicationFactor: number }[]).map(({ replicationFactor }) => replicationFactor),
      [3, 3, 3, 3],
    )
  })

  it('shows overshadowed segments in the metadata', async () => {
    const newer = segment('wiki', 2, { version: 'v2' })
    await storeSegments(database, [newer])
    const shown = JSON.parse(await text('/metadata/segments?datasources=wiki&includeOvershadowedStatus'))
    assert.deepEqual(
      (shown as { identifier: string; overshadowed: boolean; replicationFactor: number }[])
        .filter(({ overshadowed }) => overshadowed)
        .map(({ identifier, replicationFactor }) => [identifier, replicationFactor]),
      [[wiki2.id, 0]],
    )
  })
})

describe('long lists', () => {
  beforeEach(setUp)

  const count = 5001
  const many = Array.from({ length: count }, (_, number) => segment('many', number))

  it('are complete in every form', async () => {
    await storeSegments(database, many)
    const { served, ...server } = content['hot:1']
    const report = { ...reportOf('hot:1'), ...server, segments: [...served, ...many].map(({ id }) => id) }
    servers.take([report], 1, performance.now())
    const byText = (a: Segment, b: Segment) => (a.id < b.id ? -1 : 1)
    const ids = many.map(({ id }) => id)
    for (const [requestedPath, answer] of [
      ['/datasources/many/segments', ids],
      ['/datasources/many/segments?full', payloads(many)],
      ['/metadata/datasources/many/segments?full', payloads(many.toSorted(byText))],
      ['/metadata/segments?datasources=many', payloads(many.toSorted(byText))],
    ] as const)
      assert.equal(await text(requestedPath), JSON.stringify(answer), requestedPath)
    const full = JSON.parse(await text('/servers/hot:1')) as { segments: Record<string, unknown> }
    assert.deepEqual(full.segments, byId([...served, ...many]))
  })
})

describe('marking segments', () => {
  beforeEach(setUp)

  const usedOf = async (dataSource: string) =>
    (
      await database.query<{ id: string }>(
        sql`SELECT id FROM segments WHERE used AND datasource = ${dataSource} ORDER BY id`,
      )
    ).map(({ id }) => id)
  const changed = (numChangedSegments: number) => ({
    numChangedSegments,
    segmentStateChanged: numChangedSegments > 0,
  })
  const newer = segment('wiki', 2, { version: 'v2' })
  const idsOf = (...list: readonly Segment[]) => list.map(({ id }) => id).sort()

  const steps: {
    readonly name: string
    readonly send: readonly [path: string, method: string, body?: unknown]
    readonly changed: number
    readonly used: readonly Segment[]
  }[] = [
    {
      name: 'an interval marks segments completely inside it as unused',
      send: [
        '/markUnused',
        'POST',
        { interval: `${formatInstant(1.5 * dayMs)}/${formatInstant(4 * dayMs)}` },
      ],
      changed: 2,
      used: [wiki1a, wiki1b],
    },
    {
      name: 'marking again changes nothing',
      send: ['/markUnused', 'POST', { interval: days(2, 3) }],
      changed: 0,
      used: [wiki1a, wiki1b],
    },
    {
      name: 'IDs mark exactly these segments',
      send: ['/markUsed', 'POST', { segmentIds: [wiki3.id, segment('wiki', 99).id] }],
      changed: 1,
      used: [wiki1a, wiki1b, wiki3],
    },
    {
      name: 'an interval marks segments as used',
      send: ['/markUsed', 'POST', { interval: days(2) }],
      changed: 1,
      used: [wiki1a, wiki1b, wiki2, wiki3],
    },
    { name: 'all segments are marked as unused', send: ['', 'DELETE'], changed: 4, used: [] },
    {
      name: 'all segments are marked as used',
      send: ['', 'POST'],
      changed: 4,
      used: [wiki1a, wiki1b, wiki2, wiki3],
    },
  ]

  it('changes only the given segments and returns how many changed', async () => {
    for (const { name, send, changed: count, used } of steps) {
      const [end, method, body] = send
      const answer = await requestAt(`/datasources/wiki${end}`, method, body)
      assert.equal(answer.status, 200, `${name}: ${answer.text}`)
      assert.deepEqual(answer.json, changed(count), name)
      assert.deepEqual(await usedOf('wiki'), idsOf(...used), name)
    }
    assert.deepEqual(await usedOf('koalas'), idsOf(koalas1, koalas9), 'other datasources do not change')
    const entries = await loadAudit(database, { type: 'segments', key: 'wiki' })
    assert.deepEqual(entries.map(({ payload }) => payload).sort(), [
      '{"markUnused":2}',
      '{"markUnused":4}',
      '{"markUsed":1}',
      '{"markUsed":1}',
      '{"markUsed":4}',
    ])
  })

  it('changes only the given versions', async () => {
    await storeSegments(database, [newer])
    const mark = async (end: string, versions: string[]) =>
      (await requestAt(`/datasources/wiki/${end}`, 'POST', { interval: days(1, 3), versions })).json
    assert.deepEqual(await mark('markUnused', ['v2']), changed(1))
    assert.deepEqual(await usedOf('wiki'), idsOf(wiki1a, wiki1b, wiki2, wiki3))
    assert.deepEqual(await mark('markUnused', ['v3']), changed(0))
    assert.deepEqual(await mark('markUnused', ['v1', 'v2']), changed(4))
    assert.deepEqual(await mark('markUsed', ['v2']), changed(1))
    assert.deepEqual(await usedOf('wiki'), idsOf(newer))
    // Among them one that a segment of another version overshadows, as in Druid 37.
    assert.deepEqual(await mark('markUsed', ['v1']), changed(4))
    assert.deepEqual(await usedOf('wiki'), idsOf(wiki1a, wiki1b, wiki2, wiki3, newer))
    assert.deepEqual(await mark('markUnused', ['v1']), changed(4))
    assert.deepEqual(await mark('markUsed', ['v1', 'v2']), changed(3), 'overshadowed segments stay unused')
    assert.deepEqual(await usedOf('wiki'), idsOf(wiki1a, wiki1b, wiki3, newer))
  })

  it('lists unused segments in pages', async () => {
    await requestAt('/datasources/wiki', 'DELETE')
    const pageOf = async (query: string) =>
      (
        (await requestAt(`/metadata/datasources/wiki/unusedSegments${query}`)).json as {
          dataSegment: { identifier: string }
          used: boolean
          numRows: number
        }[]
      ).map(({ dataSegment, used, numRows }) => [dataSegment.identifier, used, numRows])
    const shown = (...list: Segment[]) => list.map(({ id }) => [id, false, 5])
    assert.deepEqual(await pageOf('?limit=3'), shown(wiki1a, wiki1b, wiki2))
    assert.deepEqual(await pageOf(`?limit=3&lastSegmentId=${wiki2.id}`), shown(wiki3))
    assert.deepEqual(await pageOf('?limit=1&sortOrder=desc'), shown(wiki3))
    assert.deepEqual(await pageOf(`?limit=1&sortOrder=desc&lastSegmentId=${wiki2.id}`), shown(wiki1b))
    assert.deepEqual(await pageOf(`?interval=${path(days(2, 3))}`), shown(wiki2, wiki3))
  })

  it('submits a kill task for exactly the interval', async () => {
    const { status, text: body } = await requestAt(`/datasources/wiki/intervals/${path(days(2))}`, 'DELETE')
    assert.deepEqual([status, body], [200, ''])
    const [task, ...others] = await database.query<{
      type: string
      datasource: string
      payload: { interval: string; dataSource: string }
    }>(sql`SELECT type, datasource, payload FROM tasks`)
    assert.equal(others.length, 0)
    assert.deepEqual([task?.type, task?.datasource, task?.payload.interval], ['kill', 'wiki', days(2)])
  })
})

describe('the dynamic configuration', () => {
  beforeEach(setUp)

  it('changes only the given fields and keeps a history of who changed what and why', async () => {
    const before = (await requestAt('/config')).json as Record<string, unknown>
    assert.equal(before.maxSegmentsToMove, 100)
    assert.deepEqual((await requestAt('/config/history')).json, [])
    const post = (body: object, author: string) =>
      httpRequest(context.port, {
        path: `${base}/config`,
        method: 'POST',
        body,
        headers: { 'X-Svc-Author': author, 'X-Svc-Comment': `by ${author}` },
      })
    for (const [body, author] of [
      [{ maxSegmentsToMove: 7 }, 'ann'],
      [{ replicationThrottleLimit: 8, decommissioningNodes: ['hot:1'] }, 'bob'],
    ] as const) {
      const { status, text: answer } = await post(body, author)
      assert.deepEqual([status, answer], [200, ''])
    }
    const now = (await requestAt('/config')).json
    assert.deepEqual(now, {
      ...before,
      maxSegmentsToMove: 7,
      replicationThrottleLimit: 8,
      decommissioningNodes: ['hot:1'],
    })
    const history = (await requestAt('/config/history')).json as {
      auditInfo: { author: string; comment: string }
      payload: string
    }[]
    assert.deepEqual(
      history.map(({ auditInfo: { author, comment }, payload }) => [author, comment, JSON.parse(payload)]),
      [
        ['ann', 'by ann', { ...before, maxSegmentsToMove: 7 }],
        ['bob', 'by bob', now],
      ],
    )
    const [last, ...others] = (await requestAt('/config/history?count=1')).json as typeof history
    assert.equal(others.length, 0)
    assert.equal(last?.auditInfo.author, 'bob')
    const nothing = '2000-01-01T00:00:00Z/2001-01-01T00:00:00Z'
    assert.deepEqual((await requestAt(`/config/history?interval=${encodeURIComponent(nothing)}`)).json, [])
  })
})
