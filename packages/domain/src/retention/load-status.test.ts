import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseRules, type RulesByName } from '../rules/index.ts'
import type { Segment } from '../segment/index.ts'
import { loadingServers, type SimulatedServer, simulatedServer, tableOf } from '../testing/index.ts'
import { type DatasourceLoadStatus, loadStatusOf } from './index.ts'

const day = 86_400_000
const now = 100 * day

// Appended segments, so that one id beside another does not make their group incomplete.
const segment = (id: string, daysAgo = 1, dataSource = 'wiki'): Segment => ({
  id,
  dataSource,
  interval: { start: now - daysAgo * day, end: now - (daysAgo - 1) * day },
  version: 'v1',
  partitionNum: 0,
  partitions: 0,
  sizeBytes: 1,
  totalRows: 1,
})

const server = (tier: string, served: string[] = [], given: Partial<SimulatedServer> = {}): SimulatedServer =>
  simulatedServer({ name: `${tier}${served.join()}`, tier, served: new Set(served), ...given })

function statusOf(
  segments: readonly Segment[],
  rules: RulesByName,
  servers: readonly SimulatedServer[],
): DatasourceLoadStatus[] {
  const table = tableOf(segments, servers)
  table.settleTimeline()
  return table.datasourceNames.map((_, number) =>
    loadStatusOf(table, number, rules, loadingServers(servers), now),
  )
}

const load = (tieredReplicants: Record<string, number>) => ({ type: 'loadForever', tieredReplicants })

interface Case {
  readonly name: string
  readonly segments: readonly Segment[]
  readonly rules: readonly object[]
  readonly servers: readonly SimulatedServer[]
  readonly wanted: number
  readonly unavailable: number
  readonly missing: Record<string, number>
  readonly served: Record<string, number>
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
    served: {},
  },
  {
    name: 'all served misses nothing',
    segments: [segment('a')],
    rules: [load({ hot: 1, cold: 1 })],
    servers: [server('hot', ['a']), server('cold', ['a'])],
    wanted: 1,
    unavailable: 0,
    missing: {},
    served: { hot: 1, cold: 1 },
  },
  {
    name: 'one copy makes a segment available, and the others are missing still',
    segments: [segment('a')],
    rules: [load({ hot: 2, cold: 1 })],
    servers: [server('hot', ['a']), server('hot'), server('cold')],
    wanted: 1,
    unavailable: 0,
    missing: { hot: 1, cold: 1 },
    served: { hot: 1 },
  },
  {
    name: 'a copy in a tier that no rule names makes a segment available',
    segments: [segment('a')],
    rules: [load({ cold: 1 })],
    servers: [server('hot', ['a']), server('cold')],
    wanted: 1,
    unavailable: 0,
    missing: { cold: 1 },
    served: { hot: 1 },
  },
  {
    name: 'copies that a tier has too few servers for are missing',
    segments: [segment('a')],
    rules: [load({ hot: 3, nowhere: 2 })],
    servers: [server('hot', ['a'])],
    wanted: 1,
    unavailable: 0,
    missing: { hot: 2, nowhere: 2 },
    served: { hot: 1 },
  },
  {
    name: 'what is being loaded is not there yet',
    segments: [segment('a')],
    rules: [load({ hot: 1 })],
    servers: [server('hot', [], { loading: new Set(['a']) })],
    wanted: 1,
    unavailable: 1,
    missing: { hot: 1 },
    served: {},
  },
  {
    name: 'more copies than wanted miss nothing',
    segments: [segment('a')],
    rules: [load({ hot: 1 })],
    servers: [server('hot', ['a']), server('hot', ['a'])],
    wanted: 1,
    unavailable: 0,
    missing: {},
    served: { hot: 2 },
  },
  {
    name: 'what a drop rule catches, and what is overshadowed, is not wanted',
    segments: [segment('old', 50), { ...segment('hidden'), version: 'v0' }, segment('a')],
    rules: [{ type: 'loadByPeriod', period: 'P30D', tieredReplicants: { hot: 1 } }, { type: 'dropForever' }],
    servers: [server('hot')],
    wanted: 1,
    unavailable: 1,
    missing: { hot: 1 },
    served: {},
  },
  {
    name: 'what is to have no copies is not wanted',
    segments: [segment('a')],
    rules: [load({})],
    servers: [server('hot')],
    wanted: 0,
    unavailable: 0,
    missing: {},
    served: {},
  },
  {
    name: 'a broadcast segment is wanted on every historical',
    segments: [segment('a')],
    rules: [{ type: 'broadcastForever' }],
    servers: [server('hot', ['a']), server('hot'), server('cold'), server('hot', [], { type: 'broker' })],
    wanted: 1,
    unavailable: 0,
    missing: { hot: 1, cold: 1 },
    served: { hot: 1 },
  },
  {
    name: 'a broker makes nothing available',
    segments: [segment('a')],
    rules: [load({ hot: 1 })],
    servers: [server('hot'), server('hot', ['a'], { type: 'broker' })],
    wanted: 1,
    unavailable: 1,
    missing: { hot: 1 },
    served: {},
  },
  {
    name: 'no server at all makes everything unavailable',
    segments: [segment('a')],
    rules: [load({ hot: 1 })],
    servers: [],
    wanted: 1,
    unavailable: 1,
    missing: { hot: 1 },
    served: {},
  },
  {
    name: 'copies that no rule wants are served as long as they are there',
    segments: [segment('a'), { ...segment('hidden'), version: 'v0' }],
    rules: [load({})],
    servers: [server('hot', ['a', 'hidden'])],
    wanted: 0,
    unavailable: 0,
    missing: {},
    served: { hot: 1 },
  },
]

describe('the load status', () => {
  for (const { name, segments, rules, servers, wanted, unavailable, missing, served } of cases) {
    it(name, () => {
      const [status] = statusOf(segments, new Map([['wiki', parseRules(rules)]]), servers) as [
        DatasourceLoadStatus,
      ]
      assert.deepEqual(
        {
          ...status,
          missingCopies: Object.fromEntries(status.missingCopies),
          servedCopies: Object.fromEntries(status.servedCopies),
        },
        {
          dataSource: 'wiki',
          wantedSegments: wanted,
          unavailableSegments: unavailable,
          missingCopies: missing,
          servedCopies: served,
        },
      )
    })
  }

  it('is told for each datasource by its own rules, or the rules of the cluster', () => {
    const rules = new Map([
      ['_default', parseRules([load({ cold: 1 })])],
      ['own', parseRules([load({ hot: 1 })])],
    ])
    const segments = [segment('a', 1, 'own'), segment('b', 1, 'other')]
    const statuses = statusOf(segments, rules, [server('hot'), server('cold')])
    assert.deepEqual(
      statuses.map(({ dataSource, missingCopies }) => [dataSource, [...missingCopies.keys()]]),
      [
        ['own', ['hot']],
        ['other', ['cold']],
      ],
    )
  })
})
