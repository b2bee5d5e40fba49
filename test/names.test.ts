// Names in requests: all endpoints accept and refuse the same datasource names, so a datasource that can be ingested can
// also be managed, and aliases offer the unchanged interface with another prefix, at the servers and through the router.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { SentRequest } from '@svc/shared/testing'
import { assertError, messageOf } from './support/error-answer.ts'
import { runTask } from './support/flights.ts'
import { inlineTask } from './support/inline-task.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { untilLoaded } from './support/until-loaded.ts'

const cluster = await startTestCluster({
  profile: 'secure',
  set: ['svc.coordinator.period=PT0.2S', 'svc.api.aliases=["druid"]'],
})
after(() => cluster.end())
const { router } = cluster

const interval = '2026-01-01/P1D'
const coordinator = '/svc/coordinator/v1'
const indexer = '/svc/indexer/v1'
const post = (path: string, json: unknown): SentRequest => ({ method: 'POST', path, json })
const postTask = (json: object): SentRequest => post(`${indexer}/task`, json)
const segmentOf = (dataSource: string) => ({
  dataSource,
  interval,
  version: 'v',
  partitionNum: 0,
  partitions: 1,
  size: 1,
})

const killTask = (dataSource: string) => ({ type: 'kill', dataSource, interval })
const compactTask = (dataSource: string) => ({
  type: 'compact',
  dataSource,
  ioConfig: { inputSpec: { type: 'interval', interval } },
})

type RequestFor = (name: string) => SentRequest

/** Requests with the name of a datasource in the body, in the query, or in the path. */
const entryPoints: readonly [what: string, request: RequestFor][] = [
  ['a task that ingests', (name) => postTask(inlineTask(name))],
  ['a kill task', (name) => postTask(killTask(name))],
  ['a compact task', (name) => postTask(compactTask(name))],
  ['a compaction configuration', (name) => post(`${coordinator}/config/compaction`, { dataSource: name })],
  [
    'the compaction configuration of the cluster',
    (name) =>
      post(`${indexer}/compaction/config/cluster`, {
        compactionPolicy: { type: 'newestSegmentFirst', priorityDatasource: name },
      }),
  ],
  [
    'a compaction preview',
    (name) =>
      post(`${coordinator}/compaction/simulate`, { compactionConfigs: [], segments: [segmentOf(name)] }),
  ],
  [
    'a supervisor',
    (name) => post(`${indexer}/supervisor`, { type: 'autocompact', spec: { dataSource: name } }),
  ],
  [
    'segments for a preview of rules',
    (name) => post(`${coordinator}/rules/simulate`, { rules: [], segments: [segmentOf(name)] }),
  ],
  [
    'the list of segments to kill',
    (name) => post(`${coordinator}/config`, { killDataSourceWhitelist: [name] }),
  ],
  ['a native query', (name) => post('/svc/v2', { queryType: 'dataSourceMetadata', dataSource: name })],
  [
    'segments to mark at the coordinator',
    (name) => post(`${coordinator}/datasources/${encodeURIComponent(name)}/markUnused`, { interval }),
  ],
  [
    'segments to mark at the overlord',
    (name) => post(`${indexer}/datasources/${encodeURIComponent(name)}/markUnused`, { interval }),
  ],
  ['a datasource', (name) => ({ path: `${coordinator}/datasources/${encodeURIComponent(name)}` })],
  ['the loaded segments', (name) => ({ path: `/svc/v2/datasources/${encodeURIComponent(name)}` })],
  ['a list of tasks', (name) => ({ path: `${indexer}/tasks?datasource=${encodeURIComponent(name)}` })],
  [
    'a list of segments',
    (name) => ({ path: `${coordinator}/metadata/segments?datasources=${encodeURIComponent(name)}` }),
  ],
  [
    'the status of compaction',
    (name) => ({ path: `${coordinator}/compaction/status?dataSource=${encodeURIComponent(name)}` }),
  ],
  [
    'the progress of compaction',
    (name) => ({ path: `${coordinator}/compaction/progress?dataSource=${encodeURIComponent(name)}` }),
  ],
]
const rulesEntryPoints: readonly [what: string, request: RequestFor][] = [
  ['rules', (name) => post(`${coordinator}/rules/${encodeURIComponent(name)}`, [])],
  [
    'rules for a preview',
    (name) => post(`${coordinator}/rules/simulate`, { rules: { [name]: [{ type: 'loadForever' }] } }),
  ],
]

const invalidNames = ['..', 'wikipedia/../koalas', ' ', 'a\u0000b', 'a\u007f', 'a\tb', 'x'.repeat(256)]
// Rules may exist for these names, but no data.
const namesWithoutData = ['.hidden', 'a/b', '\u{1f600}']

describe('an invalid datasource name is refused in', () => {
  for (const [what, request] of entryPoints) {
    test(what, async () => {
      for (const name of [...invalidNames, ...namesWithoutData]) await assertRefused(request(name), name)
    })
  }
  for (const [what, request] of rulesEntryPoints) {
    test(what, async () => {
      for (const name of invalidNames) await assertRefused(request(name), name)
      for (const name of namesWithoutData) await assertNotRefused(request(name), name)
    })
  }
})

describe('a valid datasource name', () => {
  before(() =>
    router.post(`${coordinator}/rules/_default`, [
      { type: 'loadForever', tieredReplicants: { _default_tier: 1 } },
    ]),
  )

  for (const name of [' leading and trailing ', 'a..b', 'ü\u00a0%2e:\\']) {
    test(`can be used everywhere: ${JSON.stringify(name)}`, async () => {
      await runTask(router, inlineTask(name))
      await untilLoaded(router)
      const { json } = await router.post('/svc/v2/sql', { query: `SELECT d FROM "${name}"` })
      assert.deepEqual(json, [{ d: 'x' }])
      for (const [what, request] of [...entryPoints, ...rulesEntryPoints])
        await assertNotRefused(request(name), `${what} ${JSON.stringify(name)}`)
    })
  }
})

describe('with svc.api.aliases=["druid"]', () => {
  const atCoordinator = cluster.at('coordinator')

  test('sets rules, and returns them and their history', async () => {
    const rules = [
      { type: 'loadForever', tieredReplicants: { _default_tier: 1 }, useDefaultTierForNull: true },
    ]
    await router.post('/druid/coordinator/v1/rules/wiki', rules, {
      'X-Druid-Author': 'koala',
      'X-Druid-Comment': 'why not',
    })
    for (const client of [router, atCoordinator]) {
      assert.deepEqual(await client.get('/druid/coordinator/v1/rules/wiki'), rules)
      assert.deepEqual(await client.get('/svc/coordinator/v1/rules/wiki'), rules)
    }
    const [entry] = await router.get<{ auditInfo: object }[]>(
      '/druid/coordinator/v1/rules/wiki/history?count=1',
    )
    assert.deepEqual(entry?.auditInfo, {
      author: 'koala',
      comment: 'why not',
      identity: 'admin',
      ip: '127.0.0.1',
    })
  })

  test('returns stored values unchanged', async () => {
    const stored = { dataSource: 'wiki', taskContext: { service: 'svc/x', error: 'svcException' } }
    await router.post('/druid/coordinator/v1/config/compaction', stored)
    const path = 'coordinator/v1/config/compaction/wiki'
    const answer = await router.get<{ taskContext: object }>(`/druid/${path}`)
    assert.deepEqual(answer.taskContext, stored.taskContext)
    assert.deepEqual(answer, await router.get(`/svc/${path}`))
  })

  test('shows services with that prefix', async () => {
    const path = 'coordinator/v1/cluster'
    for (const word of ['druid', 'svc']) {
      const { broker } = await router.get<{ broker: { service: string }[] }>(`/${word}/${path}`)
      assert.deepEqual(
        broker.map(({ service }) => service),
        [`${word}/broker`],
      )
    }
  })

  test('uses the prefix of the request in errors', async () => {
    const path = 'coordinator/v1/rules/history?count=none'
    for (const client of [router, atCoordinator]) {
      const requested = await client.send({ path: `/druid/${path}` })
      assert.equal(requested.status, 400)
      assert.equal((requested.json as { error: string }).error, 'druidException')
      const plain = await client.send({ path: `/svc/${path}` })
      assert.equal((plain.json as { error: string }).error, 'svcException')
    }
  })

  test('uses that prefix in the login realm', async () => {
    for (const client of [router, atCoordinator]) {
      for (const word of ['druid', 'svc']) {
        const path = `/${word}/coordinator/v1/rules`
        const { status, headers } = await client.send({ path, credentials: null })
        assert.equal(status, 401)
        assert.equal(headers['www-authenticate'], `Basic realm="${word}", charset="UTF-8"`)
      }
    }
  })

  test('uses that prefix in response headers', async () => {
    for (const [word, other] of [
      ['druid', 'svc'],
      ['svc', 'druid'],
    ] as const) {
      const { status, headers } = await router.send({
        method: 'POST',
        path: `/${word}/v2/sql`,
        json: { query: 'SELECT 1', context: { sqlQueryId: 'mine' } },
      })
      assert.equal(status, 200)
      assert.deepEqual(
        [headers[`x-${word}-sql-query-id`], headers[`x-${other}-sql-query-id`]],
        ['mine', undefined],
      )
    }
  })

  test('shows datasources in SQL in the schema of the requested prefix', async () => {
    const request = async (word: string, query: string) =>
      (await router.post(`/${word}/v2/sql`, { query, resultFormat: 'array' })).json
    await runTask(router, inlineTask('wiki'))
    await untilLoaded(router)
    for (const [word, other] of [
      ['druid', 'svc'],
      ['svc', 'druid'],
    ] as const) {
      assert.deepEqual(await request(word, `SELECT count(*) > 0 FROM ${word}.wiki`), [[true]])
      const tables = `SELECT TABLE_CATALOG, TABLE_SCHEMA FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'wiki'`
      assert.deepEqual(await request(word, tables), [[word, word]])
      const schemata = 'SELECT SCHEMA_NAME FROM INFORMATION_SCHEMA.SCHEMATA'
      assert.deepEqual(await request(word, schemata), [[word], ['INFORMATION_SCHEMA'], ['sys']])
      await assert.rejects(request(word, `SELECT * FROM ${other}.wiki`), /does not exist/)
    }
  })

  test('also works through the router, and internal paths stay closed', async () => {
    assert.equal((await router.send({ path: '/proxy/coordinator/druid/coordinator/v1/leader' })).status, 200)
    for (const path of [
      '/druid-internal/v1/segments',
      '/proxy/coordinator/druid-internal/v1/x',
      '/koala/v2/sql',
    ]) {
      assert.equal((await router.send({ path })).status, 404, path)
    }
  })
})

async function assertRefused(request: SentRequest, name: string): Promise<void> {
  const answer = await router.send(request)
  // A client resolves the segment `..` of a path, so this name does not arrive.
  if (name === '..' && request.path.includes('/..')) return assertError(answer, 404)
  assertError(answer, 400, JSON.stringify(name))
  assert.match(messageOf(answer), /expected a (non-blank|string without control)/)
}

async function assertNotRefused(request: SentRequest, about: string): Promise<void> {
  const answer = await router.send(request)
  assert.ok(answer.status < 300 || answer.status === 404, `${about}: ${answer.status} ${answer.text}`)
}
