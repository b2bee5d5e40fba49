import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import type { Answer } from '@svc/shared/testing'
import { seededRandom } from '../../support/random.ts'
import { choicesFrom } from './choices.ts'
import { differences } from './differences.ts'
import { differencesPage } from './differences-page.ts'
import { type Exchange, isSame } from './exchange.ts'
import { randomRequest } from './requests.ts'
import { randomState } from './state.ts'

const serverNames = ['127.0.0.1:1', '127.0.0.1:2', '127.0.0.1:3', '127.0.0.1:4', '127.0.0.1:5', '127.0.0.1:6']

function exchange(endpoint: string, druid: Answer, svc: Answer, path = '/x', json?: unknown): Exchange {
  const choices = choicesFrom(seededRandom(1))
  const state = { ...randomState(choices, 0, serverNames), isPlacementFixed: true }
  const method = endpoint.slice(0, endpoint.indexOf(' ')) as 'GET' | 'POST' | 'DELETE'
  return { request: { endpoint, method, path, ...(json === undefined ? {} : { json }) }, druid, svc, state }
}

const answer = (status: number, json?: unknown): Answer => ({
  status,
  headers: {},
  text: json === undefined ? '' : JSON.stringify(json),
  json,
})

test('docs/differences.md is up to date', () => {
  const page = readFileSync(path.join(repositoryRoot, 'docs/differences.md'), 'utf8')
  assert.ok(differencesPage() === page, 'write it with npm run test:differential -- --page')
})

test('names of differences are unique', () => {
  const names = differences.map(({ name }) => name)
  assert.deepEqual([...new Set(names)], names)
})

test('segments of different seeds have different IDs', () => {
  const idsOf = (seed: number) =>
    randomState(choicesFrom(seededRandom(seed)), 1_780_000_000_000, serverNames).segments.map(
      ({ payload }) => payload.identifier,
    )
  const ids = Array.from({ length: 50 }, (_, seed) => idsOf(seed)).flat()
  assert.equal(new Set(ids).size, ids.length)
})

test('the same seed has the same state and requests', () => {
  const draw = () => {
    const choices = choicesFrom(seededRandom(7))
    const state = randomState(choices, 1_780_000_000_000, serverNames)
    const requests = (['change', 'stable', 'settled'] as const).map((kind) =>
      randomRequest(choices, state, kind),
    )
    return { state, requests }
  }
  assert.deepEqual(draw(), draw())
})

describe('two answers', () => {
  const list = 'GET /druid/coordinator/v1/datasources'
  const rules = 'GET /druid/coordinator/v1/rules/:dataSource'

  test('are the same in another order, unless the order means something', () => {
    const [one, other] = [answer(200, ['a', 'b']), answer(200, ['b', 'a'])]
    assert.ok(isSame(exchange(list, one, other)))
    assert.ok(!isSame(exchange(rules, one, other)))
  })

  test('are the same if a payload has another form of the same number', () => {
    const history = 'GET /druid/coordinator/v1/config/history'
    const payloads = ['{"killTaskSlotRatio":0.0}', '{"killTaskSlotRatio":0}', '{"killTaskSlotRatio":1}']
    const [druid, same, other] = payloads.map((payload) => answer(200, [{ payload }]))
    assert.ok(isSame(exchange(history, druid!, same!)))
    assert.ok(!isSame(exchange(history, druid!, other!)))
  })

  test('are the same unused segments in another order, unless it was requested', () => {
    const unused = `GET ${coordinator}/metadata/datasources/:dataSource/unusedSegments`
    const [one, other] = [answer(200, ['a', 'b']), answer(200, ['b', 'a'])]
    assert.ok(isSame(exchange(unused, one, other)))
    assert.ok(!isSame(exchange(unused, one, other, '/x?sortOrder=ASC')))
  })

  test('are the same unused segments if they are as many as a limit allows, unless their order was requested', () => {
    const unused = `GET ${coordinator}/metadata/datasources/:dataSource/unusedSegments`
    const sameWith = (path: string, other: readonly string[]) =>
      isSame(exchange(unused, answer(200, ['a']), answer(200, other), path))
    assert.ok(sameWith('/x?limit=1', ['b']))
    assert.ok(!sameWith('/x?limit=1', []))
    assert.ok(!sameWith('/x?limit=1&sortOrder=ASC', ['b']))
  })

  test('differ by a value', () => {
    assert.ok(!isSame(exchange(list, answer(200, [{ a: 1 }]), answer(200, [{ a: 2 }]))))
  })

  test('differ by their status, and errors only by that', () => {
    assert.ok(isSame(exchange(list, answer(404, { a: 1 }), answer(404, 'x'))))
    assert.ok(!isSame(exchange(list, answer(404, undefined), answer(400, undefined))))
  })
})

const coordinator = '/druid/coordinator/v1'
const authentication = '/druid-ext/basic-security/authentication/db/test'
const authorization = '/druid-ext/basic-security/authorization/db/test'

type Status = readonly [status: number, json?: unknown]

/** Two answers that a listed difference explains, and two similar ones that none explains. */
interface Example {
  readonly name: string
  readonly endpoint: string
  readonly path?: string
  readonly json?: unknown
  readonly druid: Status
  readonly svc: Status
  readonly otherDruid: Status
  readonly otherSvc: Status
}

// In the state of the examples, a newer version overshadows a part of it.
const hiddenSegment = 'a.b_c_1970-01-06T00:00:00.000Z_1970-01-07T00:00:00.000Z_2026-01-01T23:14:27.851Z'
const permission = (type: string, name: string) => ({
  resourceAction: { resource: { type, name }, action: 'READ' },
})
const [queryContext, security] = [permission('QUERY_CONTEXT', '.*'), permission('CONFIG', 'security')]
const ofDatasource = `${coordinator}/datasources/:dataSource`
const examples: readonly Example[] = [
  {
    name: 'invalid input',
    endpoint: `POST ${coordinator}/config`,
    druid: [200],
    svc: [400, { errorMessage: 'Unknown field [nosuch]' }],
    otherDruid: [200],
    otherSvc: [400, { errorMessage: 'Something is wrong' }],
  },
  {
    name: 'server error in Druid',
    endpoint: `GET ${coordinator}/loadqueue`,
    druid: [500],
    svc: [200, {}],
    otherDruid: [200, {}],
    otherSvc: [500],
  },
  {
    name: 'password hashes',
    endpoint: `GET ${authentication}/users/:user`,
    druid: [200, { name: 'a', credentials: { hash: 'x' } }],
    svc: [200, { name: 'a', credentials: { algorithm: 'x' } }],
    otherDruid: [200, { name: 'a', credentials: {} }],
    otherSvc: [200, { name: 'a' }],
  },
  {
    name: 'permissions of the administrator',
    endpoint: `GET ${authorization}/roles/:role`,
    druid: [200, { name: 'admin', permissions: [queryContext] }],
    svc: [200, { name: 'admin', permissions: [queryContext, security] }],
    otherDruid: [200, { name: 'admin', permissions: [queryContext] }],
    otherSvc: [200, { name: 'admin', permissions: [security] }],
  },
  {
    name: 'configuration of workers',
    endpoint: 'GET /druid/indexer/v1/worker',
    druid: [200],
    svc: [200, { type: 'default' }],
    otherDruid: [200, { type: 'x' }],
    otherSvc: [200, { type: 'default' }],
  },
  {
    name: 'overlords as workers',
    endpoint: 'GET /druid/indexer/v1/workers',
    druid: [200, []],
    svc: [200, [{ worker: { capacity: 0 } }]],
    otherDruid: [200, []],
    otherSvc: [200, [{ worker: { capacity: 1 } }]],
  },
  {
    name: 'compaction status of an unknown datasource',
    endpoint: 'GET /druid/indexer/v1/compaction/status/datasources/:dataSource',
    druid: [404],
    svc: [200, { latestStatus: [] }],
    otherDruid: [404],
    otherSvc: [200, { latestStatus: [{ dataSource: 'a', bytesCompacted: 1 }] }],
  },
  {
    name: 'compaction status of a datasource without segments',
    endpoint: `GET ${coordinator}/compaction/status`,
    druid: [200, { latestStatus: [] }],
    svc: [200, { latestStatus: [{ dataSource: 'a', bytesCompacted: 0 }] }],
    otherDruid: [200, { latestStatus: [] }],
    otherSvc: [200, { latestStatus: [{ dataSource: 'a', bytesCompacted: 1 }] }],
  },
  {
    name: 'compaction status of one datasource as a list',
    endpoint: 'GET /druid/indexer/v1/compaction/status/datasources/:dataSource',
    druid: [200, { dataSource: 'a', bytesCompacted: 1 }],
    svc: [200, { latestStatus: [{ dataSource: 'a', bytesCompacted: 1 }] }],
    otherDruid: [200, { dataSource: 'a', bytesCompacted: 0 }],
    otherSvc: [200, { latestStatus: [{ dataSource: 'a', bytesCompacted: 1 }] }],
  },
  {
    name: 'compaction status without workers',
    endpoint: `GET ${coordinator}/compaction/status`,
    druid: [200, { latestStatus: [{ dataSource: 'a', bytesAwaitingCompaction: 1, bytesSkipped: 2 }] }],
    svc: [200, { latestStatus: [{ dataSource: 'a', bytesAwaitingCompaction: 3, bytesSkipped: 0 }] }],
    otherDruid: [200, { latestStatus: [{ dataSource: 'a', bytesAwaitingCompaction: 1, bytesSkipped: 2 }] }],
    otherSvc: [200, { latestStatus: [{ dataSource: 'a', bytesAwaitingCompaction: 3, bytesSkipped: 2 }] }],
  },
  {
    name: 'segments that compaction leaves out',
    endpoint: 'GET /druid/indexer/v1/compaction/status/datasources',
    druid: [200, { latestStatus: [{ dataSource: 'a.b_c', segmentCountSkipped: 6 }] }],
    svc: [
      200,
      { latestStatus: [{ dataSource: 'a.b_c', segmentCountSkipped: 4, segmentCountAwaitingCompaction: 3 }] },
    ],
    otherDruid: [200, { latestStatus: [{ dataSource: 'a.b_c', segmentCountAwaitingCompaction: 4 }] }],
    otherSvc: [200, { latestStatus: [{ dataSource: 'a.b_c', segmentCountAwaitingCompaction: 3 }] }],
  },
  {
    name: 'compaction tasks without workers',
    endpoint: 'GET /druid/indexer/v1/tasks',
    druid: [200, [{ id: 'a', type: 'compact' }]],
    svc: [200, []],
    otherDruid: [200, [{ id: 'a', type: 'kill' }]],
    otherSvc: [200, []],
  },
  {
    name: 'sums over no segments',
    endpoint: `GET ${coordinator}/intervals/:interval`,
    druid: [200, {}],
    svc: [200, { size: 0, count: 0 }],
    otherDruid: [200, { size: 1, count: 1 }],
    otherSvc: [200, { size: 0, count: 0 }],
  },
  {
    name: 'segments of several servers',
    endpoint: `GET ${coordinator}/intervals`,
    druid: [200, { '2026': { a: { size: 1, count: 1 } } }],
    svc: [200, { '2026': { a: { size: 3, count: 2 } }, '2027': { a: { size: 1, count: 1 } } }],
    otherDruid: [200, { '2026': { a: { size: 4, count: 1 } } }],
    otherSvc: [200, { '2026': { a: { size: 3, count: 2 } } }],
  },
  {
    name: 'rows of unused segments',
    endpoint: `GET ${coordinator}/metadata/datasources/:dataSource/unusedSegments`,
    druid: [200, [{ id: 'a', numRows: null }]],
    svc: [200, [{ id: 'a', numRows: 7 }]],
    otherDruid: [200, [{ id: 'a', numRows: null }]],
    otherSvc: [200, [{ id: 'b', numRows: 7 }]],
  },
  {
    name: 'type and projections of a compaction configuration',
    endpoint: `GET ${coordinator}/config/compaction/:dataSource`,
    druid: [200, { dataSource: 'a', type: 'inline', projections: null }],
    svc: [200, { dataSource: 'a' }],
    otherDruid: [200, { dataSource: 'a', type: 'catalog', projections: null }],
    otherSvc: [200, { dataSource: 'a' }],
  },
  {
    name: 'datasources without used segments in lists',
    endpoint: `GET ${coordinator}/loadstatus`,
    druid: [200, { a: 100, b: 'NaN' }],
    svc: [200, { a: 100 }],
    otherDruid: [200, { a: 100, b: 50 }],
    otherSvc: [200, { a: 100 }],
  },
  {
    name: 'load status where no replicas are required',
    endpoint: `GET ${coordinator}/loadstatus`,
    druid: [200, { a: 0, b: 'NaN' }],
    svc: [200, { a: 100 }],
    otherDruid: [200, { a: 100 }],
    otherSvc: [200, { a: 0 }],
  },
  {
    name: 'tiers without missing replicas in the load status',
    endpoint: `GET ${ofDatasource}/loadstatus`,
    path: '/x?full&interval=x&forceMetadataRefresh=true',
    druid: [200, { hot: { a: 0 }, cold: { a: 2 } }],
    svc: [200, { cold: { a: 2 } }],
    otherDruid: [200, { hot: { a: 1 }, cold: { a: 2 } }],
    otherSvc: [200, { cold: { a: 2 } }],
  },
  {
    name: 'a datasource without used segments',
    endpoint: `GET ${coordinator}/metadata/datasources/:dataSource/segments`,
    druid: [200, []],
    svc: [404],
    otherDruid: [200, ['a']],
    otherSvc: [404],
  },
  {
    name: 'an unused segment of a datasource without used segments',
    endpoint: `GET ${coordinator}/metadata/datasources/:dataSource/segments/:segment`,
    path: '/x?includeUnused=true',
    druid: [404],
    svc: [200, { identifier: 'a' }],
    otherDruid: [200, { identifier: 'a' }],
    otherSvc: [404],
  },
  {
    name: 'load status of a datasource without an interval',
    endpoint: `GET ${ofDatasource}/loadstatus`,
    path: '/x?forceMetadataRefresh=true',
    druid: [204],
    svc: [200, { a: 100 }],
    otherDruid: [404],
    otherSvc: [200, { a: 100 }],
  },
  {
    name: 'load status of an interval without used segments',
    endpoint: `GET ${ofDatasource}/loadstatus`,
    path: '/x?forceMetadataRefresh=true&interval=x',
    druid: [200, 'No used segment found for the given datasource and interval'],
    svc: [200, { a: 0 }],
    otherDruid: [404],
    otherSvc: [200, { a: 0 }],
  },
  {
    name: 'load status without forceMetadataRefresh',
    endpoint: `GET ${ofDatasource}/loadstatus`,
    druid: [400],
    svc: [200, { a: 100 }],
    otherDruid: [400],
    otherSvc: [404],
  },
  {
    name: 'newest entries of a compaction history',
    endpoint: `GET ${coordinator}/config/compaction/:dataSource/history`,
    path: '/x?count=1',
    druid: [200, []],
    svc: [200, [{ auditTime: '' }]],
    otherDruid: [404],
    otherSvc: [200, [{ auditTime: '' }]],
  },
  {
    name: 'number of entries of a history in an interval',
    endpoint: `GET ${coordinator}/config/history`,
    path: '/x?count=1&interval=x',
    druid: [200, [{ key: 'b' }, { key: 'a' }]],
    svc: [200, [{ key: 'a' }]],
    otherDruid: [200, [{ key: 'a' }, { key: 'b' }]],
    otherSvc: [200, [{ key: 'a' }]],
  },
  {
    name: 'rule changes without an effect',
    endpoint: `GET ${coordinator}/rules/history`,
    druid: [200, [{ key: 'a', payload: '[]' }]],
    svc: [
      200,
      [
        { key: 'a', payload: '[]' },
        { key: 'a', payload: '[]' },
      ],
    ],
    otherDruid: [200, [{ key: 'a', payload: '[]' }]],
    otherSvc: [
      200,
      [
        { key: 'b', payload: '[]' },
        { key: 'a', payload: '[]' },
      ],
    ],
  },
  {
    name: 'histories of rules with full',
    endpoint: `GET ${coordinator}/rules/history`,
    path: '/x?full',
    druid: [200, [{ key: 'a', payload: '[]' }]],
    svc: [200, [{ id: 1, key: 'a', payload: '[]', replaced: '[]' }]],
    otherDruid: [200, [{ key: 'a', payload: '[]' }]],
    otherSvc: [200, [{ id: 1, key: 'b', payload: '[]', replaced: '[]' }]],
  },
  {
    name: 'overshadowed segments to mark as used',
    endpoint: `POST ${ofDatasource}/segments/:segment`,
    path: `/x/${encodeURIComponent(hiddenSegment)}`,
    druid: [200, { numChangedSegments: 1 }],
    svc: [200, { numChangedSegments: 0 }],
    otherDruid: [200, { numChangedSegments: 0 }],
    otherSvc: [200, { numChangedSegments: 1 }],
  },
  {
    name: 'number of marked segments',
    endpoint: `POST ${ofDatasource}/markUnused`,
    json: { segmentIds: ['a'] },
    druid: [200, { numChangedSegments: 1 }],
    svc: [200, { numChangedSegments: 0 }],
    otherDruid: [200, { numChangedSegments: 0 }],
    otherSvc: [200, { numChangedSegments: 1 }],
  },
  {
    name: 'segments that overlap an interval to mark as unused',
    endpoint: `POST ${ofDatasource}/markUnused`,
    json: { interval: '1970-01-15/1970-01-16' },
    druid: [200, { numChangedSegments: 0 }],
    svc: [200, { numChangedSegments: 1 }],
    otherDruid: [404],
    otherSvc: [200, { numChangedSegments: 1 }],
  },
  {
    name: 'unknown segments to mark as used',
    endpoint: `POST ${ofDatasource}/markUsed`,
    json: { segmentIds: ['a'] },
    druid: [400],
    svc: [200, { numChangedSegments: 0 }],
    otherDruid: [404],
    otherSvc: [200, { numChangedSegments: 0 }],
  },
]

describe('a listed difference', () => {
  const explanationOf = (example: Example, [druid, svc]: readonly [Status, Status]) => {
    const given = exchange(example.endpoint, answer(...druid), answer(...svc), example.path, example.json)
    assert.ok(!isSame(given))
    return differences.find((difference) => difference.explains(given))?.name
  }

  test('has an example', () => {
    assert.deepEqual(
      examples.map(({ name }) => name),
      differences.map(({ name }) => name),
    )
  })

  for (const example of examples) {
    test(`explains only its own answers: ${example.name}`, () => {
      const { druid, svc, otherDruid, otherSvc } = example
      assert.equal(explanationOf(example, [druid, svc]), example.name)
      assert.equal(explanationOf(example, [otherDruid, otherSvc]), undefined)
    })
  }
})
