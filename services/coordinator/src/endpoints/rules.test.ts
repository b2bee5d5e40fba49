import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { ensureDefaultRules, sql } from '@svc/shared/postgres'
import { createTestContext, createTestStores, type HttpCall, httpRequest } from '@svc/shared/testing'
import { createSegmentInventory, followRules, ServerInventory } from '../inventory/index.ts'
import { createPreviews } from '../preview/index.ts'
import { createRuleLists, firstDefaultRules, ruleHistoryRoutes, rulesRoutes } from './rules.ts'

const stores = await createTestStores({ after })
const { database } = stores
const context = await createTestContext({ after }, stores, 'coordinator')
const rules = followRules(database)
let now = Date.UTC(2026, 5, 15)

before(async () => {
  await rules.start()
  const clock = { now: () => now }
  const view = {
    context: { ...context, clock },
    leadership: { term: () => 1 },
    segments: createSegmentInventory(database),
    servers: new ServerInventory(60_000),
    rules,
    dutyGroups: [],
  }
  const lists = createRuleLists(
    view.context,
    rules,
    createPreviews(view, { unknownReasons: () => [] }).warningsOf,
  )
  await context.serve({ routes: [...ruleHistoryRoutes(view.context), ...rulesRoutes(rules, lists)] })
})
beforeEach(async () => {
  await database.query(sql`DELETE FROM rules`)
  await database.query(sql`DELETE FROM audit`)
  await ensureDefaultRules(database, firstDefaultRules)
  rules.invalidate()
})

const path = '/svc/coordinator/v1/rules'
const request = (rest = '', more: Omit<HttpCall, 'path'> = {}) =>
  httpRequest(context.port, { path: `${path}${rest}`, ...more })
const post = (name: string, body: unknown, headers: Record<string, string> = {}) =>
  request(`/${name}`, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } })
const dropAll = [{ type: 'dropForever' }]
const [defaultRule] = JSON.parse(firstDefaultRules)

describe('rules', () => {
  it('are shown as stored in all three forms', async () => {
    assert.deepEqual((await request()).json, { _default: [defaultRule] })
    const stored = await post('wiki', [{ type: 'loadByPeriod', period: 'P1M', tieredReplicants: { hot: 1 } }])
    assert.deepEqual([stored.status, stored.text], [200, ''])
    const own = {
      period: 'P1M',
      includeFuture: true,
      tieredReplicants: { hot: 1 },
      useDefaultTierForNull: true,
      type: 'loadByPeriod',
    }
    assert.deepEqual((await request('/wiki')).json, [own])
    assert.deepEqual((await request('/wiki?full')).json, [own, defaultRule])
    assert.deepEqual((await request('/wiki?full=false')).json, [own, defaultRule])
    assert.deepEqual((await request('/_default?full')).json, [defaultRule])
    assert.deepEqual((await request('/unknown')).json, [])
    assert.deepEqual(Object.keys((await request()).json as object), ['_default', 'wiki'])
  })

  it('of any length are shown, alone and with the cluster default rules, and kept in the history', async () => {
    const list = Array.from({ length: 5000 }, (_, day) => ({
      period: `P${day + 1}D`,
      type: 'dropBeforeByPeriod',
    }))
    assert.equal((await post('wiki', list)).status, 200)
    assert.deepEqual((await request('/wiki')).json, list)
    const shown = await Promise.all(Array.from({ length: 8 }, () => request('/wiki?full')))
    for (const { json } of shown) assert.deepEqual(json, [...list, defaultRule])
    assert.deepEqual((await request()).json, { _default: [defaultRule], wiki: list })
    await post('wiki', [])
    const history = (await request('/wiki/history')).json as { payload: string }[]
    assert.deepEqual(
      history.map(({ payload }) => payload),
      [JSON.stringify(list), '[]'],
    )
    assert.deepEqual((await request('/wiki?full')).json, [defaultRule])
  })

  it('of a datasource named history are shown at its encoded name, because its name lists all changes', async () => {
    assert.equal((await post('%68istory', dropAll)).status, 200)
    const shown = await request('/%68istory')
    assert.deepEqual(shown.json, dropAll)
    assert.ok(shown.headers.etag)
    assert.equal(((await request('/%68istory/history')).json as unknown[]).length, 1)
    assert.equal(((await request('/history')).json as { key: string }[])[0]!.key, 'history')
  })

  it('are replaced only if they still have the required version', async () => {
    const tagOf = async () => String((await request('/wiki')).headers.etag)
    const none = await tagOf()
    assert.equal((await post('wiki', dropAll, { 'If-Match': none })).status, 200)
    const first = await tagOf()
    assert.notEqual(first, none)
    const refused = await post('wiki', [], { 'If-Match': none })
    assert.deepEqual(
      [refused.status, (refused.json as { errorMessage: string }).errorMessage],
      [409, 'Another request has changed the rules of [wiki] in the meantime'],
    )
    assert.deepEqual((await request('/wiki')).json, dropAll)
    assert.equal(((await request('/wiki/history')).json as unknown[]).length, 1)
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, () => post('wiki', [], { 'If-Match': first })),
    )
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), [200, 409, 409, 409, 409, 409])
  })

  it('replace earlier rules, and an empty list leaves only the cluster default rules', async () => {
    await post('wiki', dropAll)
    await post('wiki', [])
    assert.deepEqual((await request('/wiki?full')).json, [defaultRule])
    assert.deepEqual(((await request()).json as Record<string, unknown>).wiki, [])
  })

  for (const name of [
    'a b',
    'ü🐨',
    'a/b',
    'we ird/name',
    '__proto__',
    'constructor',
    "'; --",
    '%',
    '...',
    'x'.repeat(255),
  ]) {
    it(`can be set for a datasource named [${name.slice(0, 20)}]`, async () => {
      assert.equal((await post(encodeURIComponent(name), dropAll)).status, 200)
      assert.deepEqual((await request(`/${encodeURIComponent(name)}`)).json, dropAll)
      assert.ok(Object.hasOwn((await request()).json as object, name))
      const history = (await request(`/${encodeURIComponent(name)}/history`)).json as { key: string }[]
      assert.deepEqual(
        history.map(({ key }) => key),
        [name],
      )
    })
  }

  const refused: readonly [
    name: string,
    dataSource: string,
    body: unknown,
    status: number,
    message: RegExp,
  ][] = [
    ['an object', 'wiki', {}, 400, /list/],
    ['null', 'wiki', 'null', 400, /list/],
    ['an empty body', 'wiki', '', 400, /no body/],
    ['malformed JSON', 'wiki', '[', 400, /not valid JSON/],
    ['an unknown type', 'wiki', [{ type: 'loadSometimes' }], 400, /loadSometimes/],
    [
      'an invalid period in the second rule',
      'wiki',
      [...dropAll, { type: 'dropByPeriod', period: 'a month' }],
      400,
      /\[a month\] for \[rules\[1\]\.period\]/,
    ],
    ['the datasource name [.]', '%2e', dropAll, 400, /\[\.\] for \[dataSource\]/],
    ['the datasource name [..]', '%2e%2e', dropAll, 400, /\[\.\.\] for \[dataSource\]/],
    [
      'an empty list of cluster default rules',
      '_default',
      [],
      400,
      /^Invalid value \[\[\]\] for \[rules\]: expected a list of at least one rule for \[_default\]$/,
    ],
    [
      'a path as the datasource name',
      'a%2f..%2fb',
      dropAll,
      400,
      /\[a\/\.\.\/b\] for .*expected a non-blank datasource name/,
    ],
    ['a blank name', '%20', dropAll, 400, /1 to 255 characters/],
    [
      'a long name',
      'x'.repeat(256),
      dropAll,
      400,
      /\[x{120}…\] for .*expected a non-blank datasource name of 1 to 255 characters/,
    ],
    ['a name with a NUL', 'a%00b', dropAll, 400, /without control characters/],
    ['a name of two lines', 'a%0Ab', dropAll, 400, /\[a\\u000ab\] for \[dataSource\].*without control/],
    ['a name with DEL', 'a%7Fb', dropAll, 400, /without control characters/],
    [
      'more than two megabytes',
      'wiki',
      JSON.stringify(dropAll) + ' '.repeat(2 * 1024 * 1024),
      413,
      /2097152/,
    ],
  ]
  for (const [name, dataSource, body, status, message] of refused) {
    it(`reject ${name} and stay unchanged`, async () => {
      const before = (await request()).json
      const answer = await post(dataSource, body)
      assert.equal(answer.status, status, answer.text)
      assert.match((answer.json as { errorMessage: string }).errorMessage, message)
      assert.deepEqual((await request()).json, before)
      assert.deepEqual((await request('/history')).json, [])
    })
  }

  it('accept a body just below one megabyte', async () => {
    const text = JSON.stringify(dropAll)
    assert.equal((await post('wiki', text + ' '.repeat(1024 * 1024 - text.length))).status, 200)
  })
})

describe('the history of rules', () => {
  it('shows who changed what, when, and why', async () => {
    await post('wiki', dropAll, { 'X-Svc-Author': 'ann', 'X-Svc-Comment': 'too old' })
    assert.deepEqual((await request('/wiki/history')).json, [
      {
        key: 'wiki',
        type: 'rules',
        auditInfo: { author: 'ann', identity: 'allowAll', comment: 'too old', ip: '127.0.0.1' },
        request: null,
        payload: JSON.stringify(dropAll),
        auditTime: '2026-06-15T00:00:00.000Z',
      },
    ])
  })

  it('covers a week, an interval, or a number of changes', async () => {
    const today = now
    const hour = 3_600_000
    for (const [hours, name] of [
      [200, 'long ago'],
      [100, 'days ago'],
      [1, 'an hour ago'],
    ] as const) {
      now = today - hours * hour
      await post(encodeURIComponent(name), dropAll)
    }
    now = today
    const keys = async (query: string) =>
      ((await request(query)).json as { key: string }[]).map(({ key }) => key)
    assert.deepEqual(await keys('/history'), ['days ago', 'an hour ago'])
    assert.deepEqual(await keys('/history?count=2'), ['an hour ago', 'days ago'])
    assert.deepEqual(await keys('/history?count=9'), ['an hour ago', 'days ago', 'long ago'])
    assert.deepEqual(await keys('/history?interval=2026-01-01/2026-06-12'), ['long ago', 'days ago'])
    assert.deepEqual(await keys('/history?interval=2026-01-01/P1Y&count=1'), ['an hour ago'])
    assert.deepEqual(await keys('/long%20ago/history'), [])
    assert.deepEqual(await keys('/long%20ago/history?count=1'), ['long ago'])
    assert.deepEqual(await keys('/a%2Fb/history?count=1'), [])
    for (const query of [
      'count=0',
      'count=-1',
      'count=x',
      'count=',
      'interval=yesterday',
      'interval=',
      'count=1&count=2',
    ])
      assert.equal((await request(`/history?${query}`)).status, 400, query)
    assert.equal((await request('/a%00b/history')).status, 400)
  })
})

describe('concurrent rule changes', () => {
  it('leave one of the lists and add one history entry each', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        post('busy', [{ type: 'loadForever', tieredReplicants: { hot: index } }], {
          'X-Svc-Comment': String(index),
        }),
      ),
    )
    assert.ok(answers.every(({ status }) => status === 200))
    const [rule] = (await request('/busy')).json as { tieredReplicants: { hot: number } }[]
    const history = (await request('/busy/history?count=100')).json as { payload: string }[]
    assert.equal(history.length, 12)
    assert.equal(JSON.parse(history[0]?.payload ?? '')[0].tieredReplicants.hot, rule?.tieredReplicants.hot)
  })
})
