import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { LoadingServer } from '../loading/index.ts'
import { parseRules } from '../rules/index.ts'
import type { Segment } from '../segment/index.ts'
import { type DatasourceLoadStatus, loadStatusOf } from './index.ts'

const day = 86_400_000
const now = 100 * day

const segment = (id: string, daysAgo = 1): Segment => ({
  id,
  dataSource: 'wiki',
  interval: { start: now - daysAgo * day, end: now - (daysAgo - 1) * day },
  version: 'v1',
  partitionNum: 0,
  partitions: 1,
  sizeBytes: 1,
  totalRows: 1,
})

const server = (tier: string, served: string[] = [], given: Partial<LoadingServer> = {}): LoadingServer => ({
  name: `${tier}${served.join()}`,
  type: 'historical',
  tier,
  maxSizeBytes: 100,
  usedSizeBytes: 0,
  loadingSizeBytes: 0,
  decommissioning: false,
  served: new Set(served),
  loading: new Set(),
  dropping: new Set(),
  ...given,
})

const load = (tieredReplicants: Record<string, number>) => ({ type: 'loadForever', tieredReplicants })

interface Case {
  readonly name: string
  readonly segments: readonly Segment[]
  readonly overshadowed?: readonly string[]
  readonly rules: readonly object[]
  readonly servers: readonly LoadingServer[]
  readonly wanted: number
  readonly unavailable: number
  readonly missing: Record<string, number>
}

const cases: readonly Case[] = [
  {
    name: 'nothing served is all missing',
    segments: [segment('a'), segment('b')],
    rules: [load({ hot: 2 })],
    servers: [server('hot'), server('hot')],
    wanted: 2,
    unavailable: 2,
    missing: { hot: 4 },
  },
  {
    name: 'all served misses nothing',
    segments: [segment('a')],
    rules: [load({ hot: 1, cold: 1 })],
    servers: [server('hot', ['a']), server('cold', ['a'])],
    wanted: 1,
    unavailable: 0,
    missing: {},
  },
  {
    name: 'one copy makes a segment available, and the others are missing still',
    segments: [segment('a')],
    rules: [load({ hot: 2, cold: 1 })],
    servers: [server('hot', ['a']), server('hot'), server('cold')],
    wanted: 1,
    unavailable: 0,
    missing: { hot: 1, cold: 1 },
  },
  {
    name: 'a copy in a tier that no rule names makes a segment available',
    segments: [segment('a')],
    rules: [load({ cold: 1 })],
    servers: [server('hot', ['a']), server('cold')],
    wanted: 1,
    unavailable: 0,
    missing: { cold: 1 },
  },
  {
    name: 'copies that a tier has too few servers for are missing',
    segments: [segment('a')],
    rules: [load({ hot: 3, nowhere: 2 })],
    servers: [server('hot', ['a'])],
    wanted: 1,
    unavailable: 0,
    missing: { hot: 2, nowhere: 2 },
  },
  {
    name: 'what is being loaded is not there yet',
    segments: [segment('a')],
    rules: [load({ hot: 1 })],
    servers: [server('hot', [], { loading: new Set(['a']) })],
    wanted: 1,
    unavailable: 1,
    missing: { hot: 1 },
  },
  {
    name: 'more copies than wanted miss nothing',
    segments: [segment('a')],
    rules: [load({ hot: 1 })],
    servers: [server('hot', ['a']), server('hot', ['a'])],
    wanted: 1,
    unavailable: 0,
    missing: {},
  },
  {
    name: 'what a drop rule catches, and what is overshadowed, is not wanted',
    segments: [segment('old', 50), segment('hidden'), segment('a')],
    overshadowed: ['hidden'],
    rules: [{ type: 'loadByPeriod', period: 'P30D', tieredReplicants: { hot: 1 } }, { type: 'dropForever' }],
    servers: [server('hot')],
    wanted: 1,
    unavailable: 1,
    missing: { hot: 1 },
  },
  {
    name: 'what is to have no copies is not wanted',
    segments: [segment('a')],
    rules: [load({})],
    servers: [server('hot')],
    wanted: 0,
    unavailable: 0,
    missing: {},
  },
  {
    name: 'a broadcast segment is wanted on every historical',
    segments: [segment('a')],
    rules: [{ type: 'broadcastForever' }],
    servers: [server('hot', ['a']), server('hot'), server('cold'), server('hot', [], { type: 'broker' })],
    wanted: 1,
    unavailable: 0,
    missing: { hot: 1, cold: 1 },
  },
  {
    name: 'a broker makes nothing available',
    segments: [segment('a')],
    rules: [load({ hot: 1 })],
    servers: [server('hot'), server('hot', ['a'], { type: 'broker' })],
    wanted: 1,
    unavailable: 1,
    missing: { hot: 1 },
  },
  {
    name: 'no server at all makes everything unavailable',
    segments: [segment('a')],
    rules: [load({ hot: 1 })],
    servers: [],
    wanted: 1,
    unavailable: 1,
    missing: { hot: 1 },
  },
]

describe('the load status', () => {
  for (const { name, segments, overshadowed = [], rules, servers, wanted, unavailable, missing } of cases) {
    it(name, () => {
      const [status] = loadStatusOf(
        [{ dataSource: 'wiki', segments, overshadowed: new Set(overshadowed) }],
        new Map([['wiki', parseRules(rules)]]),
        servers,
        now,
      ) as [DatasourceLoadStatus]
      assert.deepEqual(
        { ...status, missingCopies: Object.fromEntries(status.missingCopies) },
        {
          dataSource: 'wiki',
          wantedSegments: wanted,
          unavailableSegments: unavailable,
          missingCopies: missing,
        },
      )
    })
  }

  it('is told for each datasource by its own rules, or the rules of the cluster', () => {
    const of = (dataSource: string) => ({
      dataSource,
      segments: [segment('a')],
      overshadowed: new Set<string>(),
    })
    const rules = new Map([
      ['_default', parseRules([load({ cold: 1 })])],
      ['own', parseRules([load({ hot: 1 })])],
    ])
    const statuses = loadStatusOf([of('own'), of('other')], rules, [server('hot'), server('cold')], now)
    assert.deepEqual(
      statuses.map(({ dataSource, missingCopies }) => [dataSource, [...missingCopies.keys()]]),
      [
        ['own', ['hot']],
        ['other', ['cold']],
      ],
    )
  })
})
