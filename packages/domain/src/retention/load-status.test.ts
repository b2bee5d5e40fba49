import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseRules, type RulesByName } from '../rules/index.ts'
import type { Segment } from '../segment/index.ts'
import { loadingServers, type SimulatedServer, simulatedServer, tableOf } from '../testing/index.ts'
import { type DatasourceLoadStatus, loadStatusOf } from './index.ts'

const day = 86_400_000
const now = 100 * day

// Appended segments, so that any combination of ids forms complete groups.
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
  /** Missing replicas that servers could load, if they are not the same. */
  readonly loadable?: Record<string, number>
  readonly required: readonly string[]
  readonly served: Record<string, number>
}

const cases: readonly Case[] = [
  {
    name: 'counts all replicas as missing if none are served',
    segments: [segment('a'), segment('b')],
    rules: [load({ hot: 2 })],
    servers: [server('hot'), server('hot')],
    wanted: 2,
    unavailable: 2,
    missing: { hot: 4 },
    required: ['hot'],
    served: {},
  },
  {
    name: 'counts nothing as missing if all replicas are served',
    segments: [segment('a')],
    rules: [load({ hot: 1, cold: 1 })],
    servers: [server('hot', ['a']), server('cold', ['a'])],
    wanted: 1,
    unavailable: 0,
    missing: {},
    required: ['hot', 'cold'],
    served: { hot: 1, cold: 1 },
  },
  {
    name: 'counts a segment with one of its replicas as available and the others as missing',
    segments: [segment('a')],
    rules: [load({ hot: 2, cold: 1 })],
    servers: [server('hot', ['a']), server('hot'), server('cold')],
    wanted: 1,
    unavailable: 0,
    missing: { hot: 1, cold: 1 },
    required: ['hot', 'cold'],
    served: { hot: 1 },
  },
  {
    name: 'counts a segment as available if only a tier without a rule serves it',
    segments: [segment('a')],
    rules: [load({ cold: 1 })],
    servers: [server('hot', ['a']), server('cold')],
    wanted: 1,
    unavailable: 0,
    missing: { cold: 1 },
    required: ['cold'],
    served: { hot: 1 },
  },
  {
    name: 'counts replicas as missing if a tier has too few servers',
    segments: [segment('a')],
    rules: [load({ hot: 3, nowhere: 2 })],
    servers: [server('hot', ['a'])],
    wanted: 1,
    unavailable: 0,
    missing: { hot: 2, nowhere: 2 },
    loadable: { hot: 0 },
    required: ['hot', 'nowhere'],
    served: { hot: 1 },
  },
  {
    name: 'counts loading replicas as missing',
    segments: [segment('a')],
    rules: [load({ hot: 1 })],
    servers: [server('hot', [], { loading: new Set(['a']) })],
    wanted: 1,
    unavailable: 1,
    missing: { hot: 1 },
    required: ['hot'],
    served: {},
  },
  {
    name: 'counts nothing as missing if there are more replicas than required',
    segments: [segment('a')],
    rules: [load({ hot: 1 })],
    servers: [server('hot', ['a']), server('hot', ['a'])],
    wanted: 1,
    unavailable: 0,
    missing: {},
    required: ['hot'],
    served: { hot: 2 },
  },
  {
    name: 'ignores segments that a drop rule applies to and overshadowed segments',
    segments: [segment('old', 50), { ...segment('hidden'), version: 'v0' }, segment('a')],
    rules: [{ type: 'loadByPeriod', period: 'P30D', tieredReplicants: { hot: 1 } }, { type: 'dropForever' }],
    servers: [server('hot')],
    wanted: 1,
    unavailable: 1,
    missing: { hot: 1 },
    required: ['hot'],
    served: {},
  },
  {
    name: 'ignores segments that require no replicas',
    segments: [segment('a')],
    rules: [load({})],
    servers: [server('hot')],
    wanted: 0,
    unavailable: 0,
    missing: {},
    required: [],
    served: {},
  },
  {
    name: 'requires broadcast segments on every historical',
    segments: [segment('a')],
    rules: [{ type: 'broadcastForever' }],
    servers: [server('hot', ['a']), server('hot'), server('cold'), server('hot', [], { type: 'broker' })],
    wanted: 1,
    unavailable: 0,
    missing: { hot: 1, cold: 1 },
    required: ['hot', 'cold'],
    served: { hot: 1 },
  },
  {
    name: 'does not count replicas on brokers',
    segments: [segment('a')],
    rules: [load({ hot: 1 })],
    servers: [server('hot'), server('hot', ['a'], { type: 'broker' })],
    wanted: 1,
    unavailable: 1,
    missing: { hot: 1 },
    required: ['hot'],
    served: {},
  },
  {
    name: 'counts all segments as unavailable without servers',
    segments: [segment('a')],
    rules: [load({ hot: 1 })],
    servers: [],
    wanted: 1,
    unavailable: 1,
    missing: { hot: 1 },
    loadable: {},
    required: ['hot'],
    served: {},
  },
  {
    name: 'counts replicas that no rule requires as served until they are dropped',
    segments: [segment('a'), { ...segment('hidden'), version: 'v0' }],
    rules: [load({})],
    servers: [server('hot', ['a', 'hidden'])],
    wanted: 0,
    unavailable: 0,
    missing: {},
    required: [],
    served: { hot: 1 },
  },
]

describe('the load status', () => {
  for (const {
    name,
    segments,
    rules,
    servers,
    wanted,
    unavailable,
    missing,
    loadable,
    required,
    served,
  } of cases) {
    it(name, () => {
      const [status] = statusOf(segments, new Map([['wiki', parseRules(rules)]]), servers) as [
        DatasourceLoadStatus,
      ]
      assert.deepEqual(
        {
          ...status,
          missingCopies: Object.fromEntries(status.missingCopies),
          loadableCopies: Object.fromEntries(status.loadableCopies),
          requiredTiers: [...status.requiredTiers],
          servedCopies: Object.fromEntries(status.servedCopies),
        },
        {
          dataSource: 'wiki',
          segments: segments.filter(({ version }) => version !== 'v0').length,
          wantedSegments: wanted,
          unavailableSegments: unavailable,
          missingCopies: missing,
          loadableCopies: loadable ?? missing,
          requiredTiers: required,
          servedCopies: served,
        },
      )
    })
  }

  it('covers only the segments that overlap an interval', () => {
    const table = tableOf([segment('a', 1), segment('b', 2), segment('c', 3)], [server('hot', ['c'])])
    table.settleTimeline()
    const rules = new Map([['wiki', parseRules([load({ nowhere: 2 })])]])
    const within = { start: now - 2.5 * day, end: now - day }
    const { segments, wantedSegments, unavailableSegments, missingCopies, servedCopies } = loadStatusOf(
      table,
      0,
      rules,
      loadingServers([server('hot', ['c'])]),
      now,
      within,
    )
    assert.deepEqual([segments, wantedSegments, unavailableSegments], [2, 2, 1])
    assert.deepEqual(
      [...missingCopies, ...servedCopies],
      [
        ['nowhere', 4],
        ['hot', 1],
      ],
    )
  })

  it('uses the rules of each datasource, or else the default rules', () => {
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
