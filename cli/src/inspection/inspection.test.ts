import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fittedTable, formatTable } from '../terminal/index.ts'
import { testClient } from '../testing/index.ts'
import {
  checkSelection,
  datasourcesTable,
  markSegments,
  readDatasources,
  readSegments,
  readTiers,
  segmentsTable,
  tiersTable,
} from './index.ts'

const base = 'GET /svc/coordinator/v1'
const textOf = ({ header, rows }: ReturnType<typeof tiersTable>) => formatTable(header, rows)

describe('tiers', () => {
  const server = (host: string, tier: string, type = 'historical') => ({
    host,
    tier,
    type,
    priority: 0,
    currSize: 5_000_000_000,
    maxSize: 10_000_000_000,
  })
  const answers = {
    [`${base}/servers?simple`]: [
      server('a', '_default_tier'),
      server('b', '_default_tier'),
      server('c', 'hot'),
      server('d', 'hot', 'broker'),
    ],
    [`${base}/loadqueue?simple`]: {
      a: { segmentsToLoad: 2, segmentsToLoadSize: 100, segmentsToDrop: 0 },
      b: { segmentsToLoad: 1, segmentsToLoadSize: 50, segmentsToDrop: 0 },
    },
    [`${base}/loadstatus?full`]: { _default_tier: { x: 1, y: 2 }, hot: { x: 0 }, hott: { x: 1234 } },
    [`${base}/tiers/_default_tier?simple`]: { x: { i: { count: 40, size: 1 }, j: { count: 2, size: 1 } } },
    [`${base}/tiers/hot?simple`]: {},
  }

  it('have servers, replicas, sizes, queues, and missing replicas, even without servers', async () => {
    const tiers = await readTiers(testClient(answers))
    assert.deepEqual(tiers[0], {
      tier: '_default_tier',
      servers: 2,
      replicas: 42,
      sizeBytes: 10_000_000_000,
      capacityBytes: 20_000_000_000,
      queuedLoads: 3,
      queuedLoadBytes: 150,
      queuedDrops: 0,
      missingReplicas: 3,
    })
    assert.equal(
      textOf(tiersTable(tiers)),
      [
        'tier           servers  replicas  size     capacity  loading  missing',
        '_default_tier  2        42        10.0 GB  20.0 GB   3        3',
        'hot            1        0         5.0 GB   10.0 GB',
        'hott           0        0         0 B      0 B                1,234',
      ].join('\n'),
    )
  })
})

describe('datasources', () => {
  it('have what is loaded, and show those that only have unused segments', async () => {
    const datasources = await readDatasources(
      testClient({
        [`${base}/metadata/datasources?includeUnused`]: ['old', 'x'],
        [`${base}/metadata/datasources`]: ['x'],
        [`${base}/datasources?simple`]: [
          {
            name: 'x',
            properties: {
              segments: {
                count: 1200,
                size: 3_000_000,
                replicatedSize: 1,
                minTime: '2026-01-01T00:00:00.000Z',
                maxTime: '2026-02-01T06:00:00.000Z',
              },
              tiers: { hot: { segmentCount: 1200 }, cold: { segmentCount: 3 } },
            },
          },
        ],
        [`${base}/loadstatus`]: { x: 99.99 },
      }),
    )
    assert.equal(
      textOf(datasourcesTable(datasources)),
      [
        'datasource  loaded  segments  size    from        to                 tiers',
        'old         unused  0         0 B',
        'x           99.9%   1,200     3.0 MB  2026-01-01  2026-02-01T06:00Z  cold 3, hot 1,200',
      ].join('\n'),
    )
  })
})

describe('segments', () => {
  const day = (number: number, more: object = {}) => ({
    identifier: `x-${number}`,
    dataSource: 'x',
    interval: `2026-01-0${number}T00:00:00.000Z/2026-01-0${number + 1}T00:00:00.000Z`,
    version: 'v1',
    shardSpec: { type: 'numbered', partitionNum: 0, partitions: 0 },
    size: 2000,
    ...more,
  })
  const answers = {
    [`${base}/metadata/segments?includeOvershadowedStatus&datasources=x`]: [
      day(1),
      day(2, { overshadowed: true }),
      day(3),
    ],
    [`${base}/datasources/x/intervals?full`]: { any: { 'x-1': { servers: ['a', 'b'] } } },
    [`${base}/metadata/datasources/x/unusedSegments`]: [{ dataSegment: day(5) }],
  }

  it('are listed from new to old, with their servers and state', async () => {
    const segments = await readSegments(testClient(answers), { dataSource: 'x' })
    assert.equal(
      textOf(segmentsTable(segments)),
      [
        'interval        version  #  size    replicas',
        '2026-01-03/P1D  v1       0  2.0 kB  0',
        '2026-01-02/P1D  v1       0  2.0 kB  0 overshadowed',
        '2026-01-01/P1D  v1       0  2.0 kB  2',
      ].join('\n'),
    )
  })

  for (const [interval, shown] of [
    ['2026-01-01T06:00:00.000Z/2026-01-01T07:00:00.000Z', '2026-01-01T06/PT1H'],
    ['2026-01-01T06:15:00.000Z/2026-01-01T06:30:00.000Z', '2026-01-01T06:15/PT15M'],
  ] as const)
    it(`of ${shown} have one line each in a terminal of 80 columns`, () => {
      const version = '2026-11-27T01:03:47.123Z'
      const segment = { id: 'x', interval, version, partition: 12, sizeBytes: 123_456, servers: ['a', 'b'] }
      const table = segmentsTable(
        (['x', 'y'] as const).flatMap((dataSource) => [
          { ...segment, dataSource, state: 'used' },
          { ...segment, dataSource, state: 'overshadowed' },
        ]),
      )
      const row = `  ${shown}  ${version}  12  123.5 kB  2`
      const header = `  ${'interval'.padEnd(shown.length)}  ${'version'.padEnd(version.length)}  #   size      replicas`
      assert.deepEqual(fittedTable(table, 80).slice(1), [
        header,
        ...['x', 'y'].flatMap((name) => [name, row, `${row} overshadowed`]),
      ])
    })

  it('can be limited to an interval', async () => {
    const segments = await readSegments(testClient(answers), { dataSource: 'x', interval: '2026-01-01/P1D' })
    assert.deepEqual(
      segments.map(({ id }) => id),
      ['x-1'],
    )
    await assert.rejects(readSegments(testClient(answers), { dataSource: 'x', interval: 'never' }), {
      code: 'invalidInput',
      message: /--interval/,
    })
  })

  it('can be the unused ones of a datasource', async () => {
    const unused = await readSegments(testClient(answers), { dataSource: 'x', isUnused: true })
    assert.deepEqual(
      unused.map(({ id, state }) => [id, state]),
      [['x-5', 'unused']],
    )
    await assert.rejects(readSegments(testClient(answers), { isUnused: true }), { code: 'invalidInput' })
  })
})

describe('marking segments', () => {
  const path = '/svc/indexer/v1/datasources/x%20y'
  const changed = { numChangedSegments: 2, segmentStateChanged: true }
  for (const [name, selection, isUsed, request] of [
    [
      'within an interval',
      { interval: '2026-01-01/P1D', versions: ['v'] },
      false,
      `POST ${path}/markUnused {"interval":"2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z","versions":["v"]}`,
    ],
    ['by ID', { segment: ['a', 'b'] }, true, `POST ${path}/markUsed {"segmentIds":["a","b"]}`],
    ['of an entire datasource as used', { all: true }, true, `POST ${path}`],
    ['of an entire datasource as unused', { all: true }, false, `DELETE ${path}`],
  ] as const)
    it(`works ${name}`, async () => {
      const client = testClient({ [request.split(' ').slice(0, 2).join(' ')]: changed })
      assert.equal(await markSegments(client, 'x y', selection, isUsed), 2)
      assert.deepEqual(client.sent, [request])
    })

  for (const selection of [
    {},
    { all: true, segment: ['a'] },
    { all: true, versions: ['v'] },
    { interval: 'x' },
  ])
    it(`rejects the selection ${JSON.stringify(selection)}`, () => {
      assert.throws(() => checkSelection(selection), { code: 'invalidInput' })
    })
})
