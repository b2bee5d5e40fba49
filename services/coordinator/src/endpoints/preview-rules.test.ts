import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { arrayBuffer, buffer, text } from 'node:stream/consumers'
import { after, before, beforeEach, describe, it } from 'node:test'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { decideRequest, decodeInventory, formatDecided, parsePreviewRequest } from '@svc/domain/preview'
import { payloadOf, type Segment, segmentId } from '@svc/domain/segment'
import { finish } from '@svc/domain/steps'
import { formatInterval } from '@svc/domain/time'
import { copySegments, ensureDefaultRules, saveRules, sql } from '@svc/shared/postgres'
import { openProducerConnection } from '@svc/shared/redis'
import {
  createHttpClient,
  createTestContext,
  createTestStores,
  httpRequest,
  serverReport,
  testCaller,
} from '@svc/shared/testing'
import { createChangeFeed, createInventories } from '../change-stream/index.ts'
import { createSegmentInventory, followRules, ServerInventory } from '../inventory/index.ts'
import { createPreviews } from '../preview/index.ts'
import { inventoryRoute } from './inventory.ts'
import { previewRulesRoutes } from './preview-rules.ts'
import { createRuleLists, firstDefaultRules, ruleHistoryRoutes, rulesRoutes } from './rules.ts'

const stores = await createTestStores({ after })
const { database } = stores
const context = await createTestContext({ after }, stores, 'coordinator')
const rules = followRules(database)
const servers = new ServerInventory(60_000)
const segments = createSegmentInventory(database, servers.table)
const dayMs = 86_400_000
const today = Date.UTC(2026, 5, 15)
const clock = { now: () => today }
let unknown: string[] = []
let warningsOf: ReturnType<typeof createPreviews>['warningsOf']

before(async () => {
  await rules.start()
  const leadership = { term: () => 1 }
  const view = { context: { ...context, clock }, leadership, segments, servers, rules, dutyGroups: [] }
  const known = { known: true, settled: true, paused: false, reasons: [], shortages: [], scheduled: [] }
  const clusterState = {
    unknownReasons: () => unknown,
    current: async () => ({ ...known, shownTo: async () => known }),
  }
  const previews = createPreviews(view, clusterState)
  warningsOf = previews.warningsOf
  const lists = createRuleLists(view.context, rules, previews.warningsOf)
  const routes = [
    ...ruleHistoryRoutes(view.context),
    ...rulesRoutes(rules, lists),
    ...previewRulesRoutes(view, previews, lists),
    inventoryRoute(view, createInventories(view, clusterState, createChangeFeed(view, clusterState))),
  ]
  await context.serve({ routes })
})
beforeEach(async () => {
  await database.query(sql`DELETE FROM segments`)
  await database.query(sql`DELETE FROM rules`)
  await ensureDefaultRules(database, firstDefaultRules)
  rules.invalidate()
  await segments.refresh()
  servers.reset()
})

const path = '/svc/coordinator/v1/rules/simulate'
const simulate = (body: unknown, query = '') =>
  httpRequest(context.port, {
    path: `${path}${query}`,
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/json' },
  })

interface Answer {
  readonly now: string
  readonly known: boolean
  readonly segments?: readonly {
    readonly interval: string
    readonly overshadowed: boolean
    readonly rule: { readonly index: number; readonly type: string; readonly source: string } | null
    readonly action: string
    readonly loaded: Record<string, number>
    readonly brokers: number
  }[]
  readonly segmentsTotal?: number
  readonly summary: {
    readonly effects: Record<string, object>
    readonly datasources: Record<string, Record<string, unknown>>
    readonly tiers?: Record<string, Record<string, unknown>>
    readonly steps?: readonly object[]
    readonly laterLosses?: object
  }
  readonly warnings: readonly { readonly type: string }[]
}
const answerTo = async (body: unknown, query = ''): Promise<Answer> => {
  const answer = await simulate(body, query)
  assert.equal(answer.status, 200, answer.text)
  return answer.json as Answer
}

/** Returns a segment of the day `daysAgo` days ago. */
function segment(dataSource: string, daysAgo: number, version = 'v1'): Segment {
  const start = today - daysAgo * dayMs
  const key = { dataSource, interval: { start, end: start + dayMs }, version, partitionNum: 0 }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
}
const store = (list: readonly Segment[]) =>
  database.transaction((transaction) =>
    copySegments(
      transaction,
      list.map((one) => ({
        segment: one,
        payload: payloadOf(one, {
          loadSpec: { type: 'local', path: 'x', checksum: 'y' },
          dimensions: '',
          metrics: '',
        }),
      })),
      undefined,
      0,
    ),
  )
const report = (name: string, tier: string, served: readonly Segment[], more: object = {}) =>
  servers.take(
    [
      serverReport(name, {
        tier,
        usedSizeBytes: served.length * 10,
        segments: served.map(({ id }) => id),
        ...more,
      }),
    ],
    1,
    performance.now(),
  )
const setRules = async (dataSource: string, list: object[]) => {
  const audit = { author: '', comment: '', identity: '', ip: '' }
  await saveRules(database, dataSource, JSON.stringify(list), audit, 0)
  rules.invalidate()
}

const recorded = <Line>(name: string, count: number): Line[] =>
  readFileSync(new URL(`../../../../test/fixtures/vectors/${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .slice(0, count)
    .map((line) => JSON.parse(line))

describe('a preview of given segments and servers', () => {
  it('ends in the same state as Druid 37', async () => {
    interface Cluster {
      readonly now: string
      readonly servers: object[]
      readonly rules: object[]
      readonly segments: { interval: string; partitionNum: number; loaded: object; brokers?: number }[]
    }
    for (const { now, servers: given, rules: list, segments: expected } of recorded<Cluster>('tiers', 120)) {
      const requested = expected.map(({ interval, partitionNum }) => ({ interval, partitionNum }))
      const answer = await answerTo({ now, rules: list, segments: requested, servers: given })
      assert.equal(answer.now, now)
      assert.deepEqual(
        answer.segments!.map(({ loaded, brokers }) => ({ loaded, brokers })),
        expected.map(({ loaded, brokers = 0 }) => ({ loaded, brokers })),
      )
    }
  })

  it('matches segments with the same rules as Druid 37', async () => {
    interface Decision {
      readonly rule: object
      readonly now: string
      readonly segment: string
      readonly applies: boolean
    }
    for (const { rule, now, segment: interval, applies } of recorded<Decision>('rules', 200)) {
      const { segments: rows } = await answerTo({
        now,
        rules: { wiki: [rule] },
        segments: [{ dataSource: 'wiki', interval }],
        servers: [],
      })
      assert.equal(rows![0]!.rule!.source, applies ? 'datasource' : 'default')
    }
  })

  it('treats the same segments as overshadowed as Druid 37', async () => {
    interface Timeline {
      readonly segments: readonly { readonly overshadowed: boolean }[]
    }
    for (const { segments: expected } of recorded<Timeline>('timeline', 100)) {
      const { segments: rows } = await answerTo({ rules: [], segments: expected, servers: [] })
      assert.deepEqual(
        rows!.map(({ overshadowed }) => overshadowed),
        expected.map(({ overshadowed }) => overshadowed),
      )
    }
  })

  it('uses the cluster default rules if the request has none', async () => {
    await setRules('_default', [{ type: 'dropForever' }])
    const { segments: rows } = await answerTo({
      rules: {},
      segments: [{ interval: '2026/2027' }],
      servers: [],
    })
    assert.deepEqual(rows![0]!.rule, { index: 0, type: 'dropForever', source: 'default' })
  })

  it('handles the max number of segments while other requests are served', async () => {
    const given = Array.from({ length: 50_000 }, (_, index) => ({
      interval: formatInterval(segment('x', index).interval),
    }))
    const list = Array.from({ length: 1000 }, (_, index) => ({
      type: 'loadByInterval',
      interval: `${1000 + index}/${1001 + index}`,
    }))
    const large = simulate({ rules: list, segments: given, servers: [] })
    let done = false
    void large.finally(() => {
      done = true
    })
    let served = 0
    while (!done) {
      assert.equal((await httpRequest(context.port, { path: '/svc/coordinator/v1/rules' })).status, 200)
      served += 1
    }
    const answer = await large
    assert.equal(answer.status, 200, answer.text.slice(0, 200))
    assert.equal((answer.json as Answer).segments!.length, 50_000)
    assert.ok(served > 5, `${served} other requests were answered in the meantime`)
  })
})

describe('a preview of the live cluster', () => {
  const wiki = [1, 2, 3, 40].map((daysAgo) => segment('wiki', daysAgo))
  const month = [
    { type: 'loadByPeriod', period: 'P1M', tieredReplicants: { hot: 1 } },
    { type: 'dropForever' },
  ]

  beforeEach(async () => {
    await store([...wiki, segment('koalas', 1), segment('koalas', 1, 'v2')])
    report('a', 'hot', wiki.slice(0, 1))
    report('b', '_default_tier', wiki)
    report('c', '_default_tier', [...wiki, segment('koalas', 1)])
  })

  it('sums up what would be loaded, dropped, and marked as unused', async () => {
    const { summary, warnings, segments: rows } = await answerTo({ rules: { wiki: month } })
    assert.equal(rows, undefined)
    const none = { segments: 0, copies: 0, bytes: 0 }
    const eight = { segments: 4, copies: 8, bytes: 80 }
    const { effects, ...rest } = summary.datasources.wiki!
    assert.deepEqual(effects, summary.effects)
    const lost = { segments: 1, bytes: 10, days: 1, interval: formatInterval(wiki[3]!.interval) }
    assert.deepEqual(
      [summary.effects.unqueryable, summary.effects.unused],
      [{ ...lost, queryableBefore: 1 }, lost],
    )
    assert.deepEqual(
      { wiki: rest },
      {
        wiki: {
          used: { segments: 4, bytes: 40 },
          tiers: {
            _default_tier: { before: eight, after: none, loaded: none, dropped: eight },
            hot: {
              before: { segments: 1, copies: 1, bytes: 10 },
              after: { segments: 3, copies: 3, bytes: 30 },
              loaded: { segments: 2, copies: 2, bytes: 20 },
              dropped: none,
            },
          },
          markedUnused: { segments: 1, bytes: 10 },
          oldestInterval: formatInterval(wiki[2]!.interval),
          newestInterval: formatInterval(wiki[0]!.interval),
        },
      },
    )
    assert.deepEqual(summary.tiers!.hot, {
      servers: 1,
      bytesBefore: 10,
      bytesAfter: 30,
      doesNotFit: none,
      capacityBytes: 1000,
      doesNotFitFrom: null,
    })
    assert.deepEqual(
      warnings.map(({ type }) => type),
      ['dataBecomesUnused'],
    )
  })

  it('covers all datasources if the rules are for all of them', async () => {
    const names = async (body: object) => Object.keys((await answerTo(body)).summary.datasources).sort()
    assert.deepEqual(await names({ rules: month }), ['koalas', 'wiki'])
    assert.deepEqual(await names({ rules: {}, defaultRules: month }), ['koalas', 'wiki'])
    assert.deepEqual(await names({ rules: { nodata: month } }), ['nodata'])
    assert.deepEqual(await names({ rules: {} }), [])
  })

  it('shows nothing until the leader knows the cluster', async () => {
    unknown = ['The leader is waiting for reports from 1 server: [a]']
    try {
      const answer = await answerTo({ rules: { wiki: month } }, '?full')
      assert.deepEqual(answer, { now: answer.now, known: false, reasons: unknown })
      assert.ok(answer.now.startsWith('2026-06-15'))
      const given = await answerTo({ rules: month, segments: [], servers: [] })
      assert.equal(given.known, true)
      assert.ok(given.summary)
      const withSegments = await answerTo({ rules: month, segments: [] })
      assert.equal(withSegments.known, false)
    } finally {
      unknown = []
    }
    assert.equal((await answerTo({ rules: { wiki: month } })).known, true)
  })

  it('suggests a datasource with segments for one without', async () => {
    const { warnings } = await answerTo({ rules: { wikki: month } })
    assert.deepEqual(
      warnings.filter(({ type }) => type === 'datasourceWithoutSegments'),
      [
        {
          type: 'datasourceWithoutSegments',
          dataSource: 'wikki',
          similarDatasource: 'wiki',
          message: 'Datasource [wikki] has no segments (did you mean [wiki]?)',
        },
      ],
    )
  })

  it('shows the segments in pages', async () => {
    const all = await answerTo({ rules: month }, '?full')
    assert.equal(all.segmentsTotal, 6)
    assert.equal(all.segments!.length, 6)
    assert.equal(all.segments!.filter(({ overshadowed }) => overshadowed).length, 1)
    const pages = []
    for (const offset of [0, 2, 4, 6])
      pages.push((await answerTo({ rules: month }, `?full&limit=2&offset=${offset}`)).segments!)
    assert.deepEqual(
      pages.map(({ length }) => length),
      [2, 2, 2, 0],
    )
    assert.deepEqual(pages.flat(), all.segments)
    for (const query of ['?full&limit=0', '?full&limit=10001', '?full&offset=-1'])
      assert.equal((await simulate({ rules: month }, query)).status, 400, query)
  })

  it('uses given servers instead of the live ones', async () => {
    const given = [{ name: 'x', type: 'historical', tier: 'hot', maxSize: 15 }]
    const { segments: rows, warnings } = await answerTo({ rules: { wiki: month }, servers: given }, '?full')
    assert.deepEqual(
      rows!.map(({ action, loaded }) => [action, loaded.hot ?? 0]),
      [
        ['drop', 0],
        ['load', 0],
        ['load', 0],
        ['load', 1],
      ],
    )
    assert.ok(warnings.some(({ type }) => type === 'doesNotFit'))
  })

  it('keeps segments that a broadcast rule loaded on brokers', async () => {
    report('d', '_default_tier', wiki.slice(0, 2), { type: 'broker' })
    const brokers = async (type: string) =>
      (await answerTo({ rules: { wiki: [{ type }] } }, '?full')).segments!.map((row) => row.brokers)
    assert.deepEqual(await brokers('loadForever'), [0, 0, 1, 1])
    assert.deepEqual(await brokers('broadcastForever'), [1, 1, 1, 1])
    assert.deepEqual(await brokers('dropForever'), [0, 0, 0, 0])
  })

  it('looks ahead in steps', async () => {
    const { summary } = await answerTo({ rules: { wiki: month }, horizon: 'P60D' })
    assert.equal(summary.steps!.length, 60)
    assert.deepEqual(Object.keys(summary.laterLosses!), ['unqueryable', 'unused'])
    const { laterLosses } = (await answerTo({ rules: { wiki: month } })).summary
    assert.equal(laterLosses, undefined)
  })

  it('changes neither the cluster nor the load queues', async () => {
    const settings = stores.settings('coordinator')
    const redis = openProducerConnection(settings)
    after(() => redis.disconnect())
    await new Promise((resolve) => redis.once('ready', resolve))
    const everything = async () => {
      const tables = await database.query<{ name: string }>(
        sql`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1`,
      )
      assert.ok(tables.length > 10)
      const rows: Record<string, unknown> = {}
      for (const { name } of tables) {
        // Heartbeats change all the time, with or without previews.
        const [table] = await database.query<{ xml: string }>(
          sql`SELECT table_to_xml(${name}::regclass, true, false, '')::text AS xml`,
        )
        rows[name] = table!.xml.replace(/<heartbeat_at>.*?<\/heartbeat_at>/g, '')
      }
      // Other tests use the same Redis server.
      const keys = (await redis.keys(`${settings.get('svc.queue.prefix')}:*`)).sort()
      const values = await Promise.all(keys.map((key) => redis.dumpBuffer(key)))
      return { rows, keys, values: values.map((value) => value?.toString('hex')) }
    }
    const held = () => JSON.stringify(servers.servers().map((one) => [...one.served, ...one.pending.keys()]))
    const stored = await everything()
    const inventory = held()
    for (const body of [
      { rules: month },
      { rules: { wiki: month }, horizon: 'P10Y' },
      { rules: { wiki: [{ type: 'dropForever' }] }, defaultRules: [{ type: 'dropForever' }] },
      { rules: month, segments: [{ interval: '2026/2027', dataSource: 'wiki' }], servers: [] },
    ])
      await answerTo(body, '?full')
    assert.equal((await simulate({ rules: 'x' })).status, 400)
    assert.deepEqual(await everything(), stored)
    assert.equal(held(), inventory)
  })
})

describe('an invalid preview request with', () => {
  const rule = { type: 'loadForever' }
  const cases: [name: string, body: unknown, message: RegExp][] = [
    [
      'a hundred thousand rules',
      { rules: Array(100_000).fill(rule) },
      /^Too many rules \[100000\] in \[.*rules\]/,
    ],
    ['a horizon of ten thousand years', { rules: [], horizon: 'P10000Y' }, /\[P10000Y\] for \[horizon\]/],
    [
      'servers without tiers',
      { rules: [], servers: [{ name: 'a', type: 'historical' }] },
      /servers\[0\]\.tier/,
    ],
    [
      'a negative size',
      { rules: [], segments: [{ interval: '2026/2027', size: -5 }] },
      /\[-5\] for \[segments\[0\]\.size\]/,
    ],
    ['a string', '"rules"', /an object with rules/],
    [
      'too many segments',
      { rules: [], segments: Array(50_001).fill({}) },
      /^Too many segments \[50001\] in \[.*segments\]: expected at most/,
    ],
  ]
  for (const [name, body, message] of cases) {
    it(`${name} fails with 400`, async () => {
      const answer = await simulate(body)
      assert.equal(answer.status, 400, answer.text.slice(0, 200))
      assert.match((answer.json as { errorMessage: string }).errorMessage, message)
    })
  }
})

describe('a datasource named simulate', () => {
  it('can have its rules shown and replaced', async () => {
    const list = [{ type: 'loadForever', useDefaultTierForNull: true, tieredReplicants: { hot: 1 } }]
    const replaced = await simulate(list)
    assert.equal(replaced.status, 200, replaced.text)
    assert.equal(replaced.text, '')
    assert.ok(replaced.headers['x-svc-warnings'])
    const shown = async (query = '') => (await httpRequest(context.port, { path: `${path}${query}` })).json
    assert.deepEqual(await shown(), list)
    assert.deepEqual(await shown('?full'), [...list, ...JSON.parse(firstDefaultRules)])
    const all = await httpRequest(context.port, { path: '/svc/coordinator/v1/rules' })
    assert.deepEqual((all.json as Record<string, unknown>).simulate, list)
    const history = await httpRequest(context.port, { path: `${path}/history` })
    assert.equal((history.json as object[]).length > 0, true)
    // A preview does not change them.
    assert.equal((await simulate({ rules: { simulate: [{ type: 'dropForever' }] } })).status, 200)
    assert.deepEqual(await shown(), list)
  })

  it('rejects invalid rules', async () => {
    const answer = await simulate([{ type: 'loadSometimes' }])
    assert.equal(answer.status, 400)
    assert.match(answer.text, /loadSometimes/)
    const large = await simulate(Array(45_000).fill({ type: 'loadForever', tieredReplicants: { hot: 1 } }))
    assert.equal(large.status, 413)
  })
})

describe('the warnings for new rules', () => {
  const post = async (dataSource: string, body: object[]) => {
    const answer = await httpRequest(context.port, {
      path: `/svc/coordinator/v1/rules/${encodeURIComponent(dataSource)}`,
      method: 'POST',
      body,
    })
    assert.deepEqual([answer.status, answer.text], [200, ''])
    const header = answer.headers['x-svc-warnings'] as string
    assert.ok(header.length <= 4096, `${header.length} characters`)
    return JSON.parse(header) as { count: number; warnings: { type: string; dataSource?: string }[] }
  }

  it('are empty if there is nothing to warn about', async () => {
    report('a', 'hot', [])
    assert.deepEqual(await post('wiki', [{ type: 'loadForever', tieredReplicants: { hot: 1 } }]), {
      count: 0,
      warnings: [],
    })
  })

  it('are the same as in a preview', async () => {
    await store([segment('wiki', 100), segment('koalas', 1)])
    report('a', 'hot', [])
    const list = [
      { type: 'loadByPeriod', period: 'P1M', tieredReplicants: { hot: 3, cold: 1 } },
      { type: 'dropForever' },
      { type: 'loadForever' },
    ]
    const preview = await post('wiki', list)
    const { warnings } = await answerTo({ rules: { wiki: list } })
    assert.deepEqual(preview, { count: warnings.length, warnings })
    assert.deepEqual(
      warnings.map(({ type }) => type),
      [
        'ruleNeverReached',
        'dataBecomesUnused',
        'replicasAboveServers',
        'tierWithoutServers',
        'tierWithoutServers',
      ],
    )
  })

  it('for the cluster default rules cover every datasource', async () => {
    await store([segment('wiki', 100), segment('koalas', 1)])
    const { warnings } = await post('_default', [{ type: 'dropForever' }])
    const unused = warnings.filter(({ type }) => type === 'dataBecomesUnused')
    assert.deepEqual(unused.map(({ dataSource }) => dataSource).sort(), ['koalas', 'wiki'])
  })

  it('do not name datasources that the caller may not read', async () => {
    await store([segment('wiki', 100), segment('koalas', 1)])
    const namesFor = async (dataSource: string, ...readable: string[]) => {
      await post(dataSource, [{ type: 'dropForever' }])
      const caller = testCaller((_action, _type, name) => readable.includes(name))
      const warnings = await warningsOf(dataSource, caller, new AbortController().signal)
      return [
        ...new Set(warnings.flatMap((warning) => ('dataSource' in warning ? [warning.dataSource] : []))),
      ]
    }
    assert.deepEqual(await namesFor('_default', 'wiki'), ['wiki'])
    // The name that stands for any datasource.
    assert.deepEqual(await namesFor('_default'), ['preview'])
    assert.deepEqual(await namesFor('koalas', 'wiki'), [])
    assert.deepEqual(await namesFor('koalas', 'koalas'), ['koalas'])
  })

  it('are limited to the first ones and escaped for a header', async () => {
    const { count, warnings } = await post('ü🐨', [
      { type: 'dropForever' },
      ...Array(500).fill({ type: 'loadForever' }),
    ])
    assert.ok(count > 500, `${count}`)
    assert.ok(warnings.length > 3 && warnings.length < 50, `${warnings.length}`)
    assert.equal(warnings[0]!.dataSource, 'ü🐨')
  })
})

describe('the inventory for previews in a page', () => {
  const client = createHttpClient(`http://127.0.0.1:${context.port}`)
  after(() => client.close())
  const inventory = (headers: Record<string, string> = {}) =>
    client.open({ path: '/svc/coordinator/v1/inventory', headers })

  beforeEach(async () => {
    await store([segment('wiki', 1), segment('koalas', 2)])
    report('a', 'hot', [segment('wiki', 1)])
  })

  it('answers like the coordinator', async () => {
    const decoded = decodeInventory(await arrayBuffer(await inventory()))
    assert.equal(decoded.isComplete, true)
    const edit = { rules: { wiki: [{ type: 'loadByPeriod', period: 'P1M', tieredReplicants: { hot: 2 } }] } }
    const request = finish(parsePreviewRequest(edit, decoded.now))
    const reader = { canRead: () => true, canReadTiers: true }
    const page = { full: true, offset: 0, limit: 1000 }
    const answer = finish(
      formatDecided(finish(decideRequest(request, decoded, reader, { buckets: 50 })), page),
    )
    const expected = await answerTo(edit, '?full&buckets=50')
    // Only the coordinator knows unused segments and how fast servers load.
    const { restorable, loadTime, ...summary } = expected.summary as Record<string, unknown>
    assert.deepEqual(JSON.parse(JSON.stringify(answer)), { ...expected, summary })
  })

  for (const [accepted, encoding, decode] of [
    ['gzip, deflate, br, zstd', 'zstd', zstdDecompressSync],
    ['gzip, deflate', 'gzip', gunzipSync],
    ['br', undefined, (bytes: Buffer) => bytes],
  ] as const)
    it(`is compressed for a caller that accepts ${accepted}`, async () => {
      const answer = await inventory({ 'Accept-Encoding': accepted })
      assert.equal(answer.headers['content-encoding'], encoding)
      const bytes = decode(await buffer(answer))
      const { datasources } = decodeInventory(Uint8Array.from(bytes).buffer)
      assert.deepEqual(datasources.map(({ segments }) => segments.dataSource).sort(), ['koalas', 'wiki'])
    })

  it('is not sent again while nothing changes', async () => {
    const first = await inventory()
    const tag = first.headers.etag!
    assert.equal((await inventory({ 'If-None-Match': tag })).statusCode, 304)
    await store([segment('wiki', 3)])
    const changed = await inventory({ 'If-None-Match': tag })
    assert.equal(changed.statusCode, 200)
    assert.notEqual(changed.headers.etag, tag)
    await setRules('wiki', [{ type: 'dropForever' }])
    assert.equal((await inventory({ 'If-None-Match': changed.headers.etag! })).statusCode, 200)
  })

  it('is unavailable until the leader knows the cluster', async () => {
    unknown = ['The leader is waiting for reports from 1 server: [a]']
    try {
      const answer = await inventory()
      assert.equal(answer.statusCode, 503)
      assert.match(await text(answer), /is waiting for reports/)
    } finally {
      unknown = []
    }
  })
})
