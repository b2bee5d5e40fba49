import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compileRules, effectiveRules, parseRules, type Rule, type RulesByName } from '../rules/index.ts'
import { type Segment, segmentId } from '../segment/index.ts'
import {
  loadingServers,
  type NamedPlan,
  namedCopies,
  type SimulatedServer,
  simulatedServer,
  tableOf,
} from '../testing/index.ts'
import { analyzeTimeline } from '../timeline/index.ts'
import { loadStatusOf, RetentionPlanner } from './index.ts'

const day = 86_400_000
const now = Date.UTC(2026, 5, 15)
const limits = { maxLoadsPerServer: 100, replicationThrottleLimit: 100 }

/** Returns the segment of a day before `now`, by default its first version. */
function segment(daysAgo: number, version = 'v1', given: Partial<Segment> = {}): Segment {
  const interval = { start: now - daysAgo * day, end: now - (daysAgo - 1) * day }
  const key = { dataSource: 'wiki', interval, version, partitionNum: 0, ...given }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 1, totalRows: 1, ...given }
}

function server(
  name: string,
  given: Partial<SimulatedServer> = {},
  served: readonly Segment[] = [],
): SimulatedServer {
  return simulatedServer({
    name,
    maxSizeBytes: 1000,
    usedSizeBytes: served.length,
    served: new Set(served.map(({ id }) => id)),
    ...given,
  })
}

const load = (tieredReplicants: Record<string, number>, more: object = { type: 'loadForever' }) => ({
  tieredReplicants,
  ...more,
})
/** Returns all rules of a datasource, to match one by one. */
const rulesOf = (rules: RulesByName, dataSource: string, now: number) =>
  compileRules(effectiveRules(rules.get(dataSource) ?? [], rules.get('_default') ?? []), now)

const rules = (own: readonly object[], defaults: readonly object[] = [load({ _default_tier: 1 })]) =>
  new Map<string, readonly Rule[]>([
    ['wiki', parseRules(own)],
    ['_default', parseRules(defaults)],
  ])

interface Given {
  readonly segments: readonly Segment[]
  readonly rules?: ReadonlyMap<string, readonly Rule[]>
  readonly servers: readonly SimulatedServer[]
}

/** The decisions of a full run, with names. */
interface ReadablePlan extends Pick<NamedPlan, 'loads' | 'drops'> {
  readonly markUnused: readonly { readonly id: string; readonly reason: string }[]
  readonly tiersWithoutServers: ReadonlyMap<string, number>
}

function plan(given: Given): ReadablePlan {
  const { servers } = given
  const table = tableOf(given.segments, servers)
  const run = new RetentionPlanner(table).begin({
    now,
    rules: given.rules ?? rules([]),
    servers: loadingServers(servers),
    limits,
  })
  const named = { loads: [], drops: [], markUnused: [] } as {
    -readonly [Key in 'loads' | 'drops' | 'markUnused']: ReadablePlan[Key][number][]
  }
  for (let part = run.next(2); part !== undefined; part = run.next(2)) {
    named.loads.push(...namedCopies(table, servers, part.loads))
    named.drops.push(...namedCopies(table, servers, part.drops))
    for (const { rows, reason } of part.markUnused)
      named.markUnused.push(...rows.map((row) => ({ id: table.idOf(row), reason })))
  }
  return { ...named, tiersWithoutServers: run.tiersWithoutServers() }
}

/** Formats a plan: `load a 1`, `drop b 2`, `unused 3 dropRule`. Segments are shown as days before now and version. */
function named(given: Given, { loads, drops, markUnused }: ReadablePlan): string[] {
  const names = new Map(
    given.segments.map(({ id, interval, version }) => [
      id,
      `${(now - interval.start) / day}${version === 'v1' ? '' : version}`,
    ]),
  )
  const name = (id: string) => names.get(id) ?? id
  return [
    ...loads.map((one) => `load ${one.server} ${name(one.segmentId)}`),
    ...drops.map((one) => `drop ${one.server} ${name(one.segmentId)}`),
    ...markUnused.map((one) => `unused ${name(one.id)} ${one.reason}`),
  ].sort()
}

const recent = { type: 'loadByPeriod', period: 'P3D', includeFuture: true }
const cases: readonly { name: string; given: Given; expected: string[] }[] = [
  {
    name: 'uses the first rule that applies to a segment',
    given: {
      segments: [segment(1), segment(10)],
      rules: rules([load({ hot: 1 }, recent), load({ cold: 1 })]),
      servers: [server('h', { tier: 'hot' }), server('c', { tier: 'cold' })],
    },
    expected: ['load c 10', 'load h 1'],
  },
  {
    name: 'uses the default rules if no rule of the datasource applies',
    given: {
      segments: [segment(10)],
      rules: rules([load({ hot: 1 }, recent)], [load({ cold: 1 })]),
      servers: [server('h', { tier: 'hot' }), server('c', { tier: 'cold' })],
    },
    expected: ['load c 10'],
  },
  {
    name: 'loads segments that no rule applies to',
    given: {
      segments: [segment(10)],
      rules: rules([], [load({ hot: 1 }, recent)]),
      servers: [server('h', { tier: 'hot' }), server('a'), server('b')],
    },
    expected: ['load a 10', 'load b 10'],
  },
  {
    name: 'marks segments as unused and drops their replicas if a drop rule applies',
    given: {
      segments: [segment(1), segment(10)],
      rules: rules([load({ _default_tier: 1 }, recent), { type: 'dropForever' }]),
      servers: [server('a', {}, [segment(1), segment(10)])],
    },
    expected: ['drop a 10', 'unused 10 dropRule'],
  },
  {
    name: 'marks unserved segments as unused if a drop rule applies',
    given: { segments: [segment(10)], rules: rules([{ type: 'dropForever' }]), servers: [server('a')] },
    expected: ['unused 10 dropRule'],
  },
  {
    name: 'drops unused segments, but only once',
    given: {
      segments: [],
      servers: [server('a', { served: new Set(['gone', 'going']), dropping: new Set(['going']) })],
    },
    expected: ['drop a gone'],
  },
  {
    name: 'drops unused segments from brokers, too',
    given: { segments: [], servers: [server('b', { type: 'broker', served: new Set(['gone']) })] },
    expected: ['drop b gone'],
  },
  {
    name: 'keeps an overshadowed segment until the newer one is served',
    given: {
      segments: [segment(1), segment(1, 'v2')],
      servers: [server('a', {}, [segment(1)])],
    },
    expected: ['load a 1v2'],
  },
  {
    name: 'marks an overshadowed segment as unused after the newer one is served',
    given: {
      segments: [segment(1), segment(1, 'v2')],
      servers: [server('a', {}, [segment(1), segment(1, 'v2')])],
    },
    expected: ['unused 1 overshadowed'],
  },
  {
    name: 'keeps an overshadowed segment while the newer version is only partially served',
    given: {
      segments: [
        segment(1),
        segment(1, 'v2', { partitions: 2 }),
        segment(1, 'v2', { partitions: 2, partitionNum: 1 }),
      ],
      servers: [server('a', {}, [segment(1), segment(1, 'v2', { partitions: 2 })])],
    },
    expected: ['load a 1v2'],
  },
  {
    name: 'keeps an overshadowed segment while none of several newer versions is served',
    given: {
      segments: [segment(1), segment(1, 'v2'), segment(1, 'v3')],
      servers: [server('a', {}, [segment(1)])],
    },
    expected: ['load a 1v3'],
  },
  {
    name: 'marks an overshadowed segment as unused if a version in between is served',
    given: {
      segments: [segment(1), segment(1, 'v2'), segment(1, 'v3')],
      servers: [server('a', {}, [segment(1), segment(1, 'v2')])],
    },
    expected: ['load a 1v3', 'unused 1 overshadowed'],
  },
  {
    name: 'marks an overshadowed segment as unused immediately if no tier can load the newer one',
    given: {
      segments: [segment(1), segment(1, 'v2')],
      rules: rules([load({ nowhere: 1 })]),
      servers: [server('a', {}, [segment(1)])],
    },
    expected: ['unused 1 overshadowed'],
  },
  {
    name: 'marks an overshadowed segment as unused immediately if the newer one requires no replicas',
    given: {
      segments: [segment(1), segment(1, 'v2')],
      rules: rules([load({})]),
      servers: [server('a', {}, [segment(1)])],
    },
    expected: ['unused 1 overshadowed'],
  },
  {
    name: 'keeps an overshadowed segment if a drop rule applies to the newer one',
    given: {
      segments: [segment(10), segment(10, 'v2')],
      rules: rules([{ type: 'dropForever' }]),
      servers: [server('a', {}, [segment(10)])],
    },
    expected: ['unused 10v2 dropRule'],
  },
  {
    name: 'marks all older versions as unused if the newest is served, whether or not the middle one is',
    given: {
      segments: [segment(1), segment(1, 'v2'), segment(1, 'v3')],
      servers: [server('a', {}, [segment(1), segment(1, 'v3')])],
    },
    expected: ['unused 1 overshadowed', 'unused 1v2 overshadowed'],
  },
  {
    name: 'broadcasts to every historical and to brokers with storage',
    given: {
      segments: [segment(1)],
      rules: rules([{ type: 'broadcastForever' }]),
      servers: [
        server('a', { tier: 'hot' }),
        server('b'),
        server('broker', { type: 'broker' }),
        server('bare', { type: 'broker', maxSizeBytes: 0 }),
      ],
    },
    expected: ['load a 1', 'load b 1', 'load broker 1'],
  },
  {
    name: 'moves a segment by loading the new replica before it drops the old one',
    given: {
      segments: [segment(10), segment(11)],
      rules: rules([load({ cold: 1 })]),
      servers: [
        server('h', { tier: 'hot' }, [segment(10), segment(11)]),
        server('c', { tier: 'cold' }, [segment(11)]),
      ],
    },
    expected: ['drop h 11', 'load c 10'],
  },
  {
    name: 'ignores the rules of other datasources',
    given: {
      segments: [segment(1)],
      rules: new Map([...rules([]), ['other', parseRules([{ type: 'dropForever' }])]]),
      servers: [server('a')],
    },
    expected: ['load a 1'],
  },
  { name: 'plans nothing without segments and servers', given: { segments: [], servers: [] }, expected: [] },
]

describe('a single run', () => {
  for (const { name, given, expected } of cases) {
    it(name, () => assert.deepEqual(named(given, plan(given)), expected))
  }

  it('returns the tiers without servers, with their required replicas', () => {
    const { tiersWithoutServers, loads } = plan({
      segments: [segment(1), segment(2), segment(10)],
      rules: rules([load({ hot: 2, _default_tier: 1 }, recent), load({ icy: 1 })]),
      servers: [server('a'), server('b', { type: 'broker', tier: 'hot' })],
    })
    assert.deepEqual(
      [...tiersWithoutServers],
      [
        ['hot', 4],
        ['icy', 1],
      ],
    )
    assert.equal(loads.length, 2)
  })

  it('returns the tiers whose servers are all decommissioning, with their required replicas', () => {
    const servers = [server('a', { tier: 'hot', decommissioning: true }), server('b')]
    const table = tableOf([segment(1), segment(2), segment(10)], servers)
    const run = new RetentionPlanner(table).begin({
      now,
      rules: rules([load({ hot: 2, _default_tier: 1 }, recent), load({ hot: 1 })]),
      servers: loadingServers(servers),
      limits,
    })
    assert.deepEqual(
      [...run.lacking('tiersWithoutActiveServers')],
      [
        [
          'hot',
          [
            { copies: 2, segments: new Map([[0, 2]]) },
            { copies: 1, segments: new Map([[0, 1]]) },
          ],
        ],
      ],
    )
    assert.equal(run.tiersWithoutServers().size + run.lacking('tiersWithTooFewServers').size, 0)
  })

  it('has a rule for every segment', () => {
    const ofPeriod = parseRules([{ type: 'dropByPeriod', period: 'P1D' }])
    const all = rulesOf(new Map([['wiki', ofPeriod]]), 'wiki', now)
    assert.ok(all.some((rule) => rule.appliesTo({ start: -Infinity, end: Infinity })))
    assert.ok(rulesOf(new Map(), 'unknown', now).length > 0)
  })
})

describe('consecutive runs', () => {
  const names = ['a', 'b', 'c']
  const tiers = ['hot', '_default_tier'] as const
  const anyRules = fc.array(
    fc.oneof(
      fc.record({ hot: fc.nat(2), _default_tier: fc.nat(2) }).map((replicants) => load(replicants)),
      fc.record({ hot: fc.nat(2) }).map((replicants) => load(replicants, recent)),
      fc.constant({ type: 'dropForever' }),
      fc.constant({ type: 'dropByPeriod', period: 'P5D', includeFuture: true }),
      fc.constant({ type: 'broadcastForever' }),
    ),
    { maxLength: 3 },
  )
  const anySegments = fc.uniqueArray(
    fc
      .record({ days: fc.integer({ min: 1, max: 8 }), version: fc.constantFrom('v1', 'v2', 'v3') })
      .map(({ days, version }) => segment(days, version)),
    { maxLength: 10, selector: ({ id }) => id },
  )
  const anyServers = fc.array(fc.constantFrom(...tiers), { minLength: 1, maxLength: 3 })

  it('reach the state that the rules require, without losing visible segments or keeping unused ones', () => {
    fc.assert(
      fc.property(
        anySegments,
        anyRules,
        anyServers,
        fc.infiniteStream(fc.nat(2)),
        (all, own, serverTiers, choices) => {
          const own2 = rules(own)
          const used = new Map(all.map((one) => [one.id, one]))
          const served = serverTiers.map(() => new Set<string>())
          // The servers start with any of the segments, including unused ones.
          for (const { id } of all) served[choices.next().value % served.length]?.add(id)
          served[0]?.add('not used')
          const snapshot = () => ({
            segments: [...used.values()],
            rules: own2,
            servers: serverTiers.map((tier, index) =>
              server(names[index] ?? '', { tier, served: new Set(served[index]) }),
            ),
          })
          const visible = () => {
            const segments = [...used.values()].filter(({ id }) => served.some((one) => one.has(id)))
            return new Set(
              analyzeTimeline(segments).visible.map(({ interval }) => `${interval.start}/${interval.end}`),
            )
          }
          const dropped = () =>
            new Set(
              [...used.values()]
                .filter(({ interval }) => {
                  const [wanted] = rulesOf(own2, 'wiki', now).filter((rule) => rule.appliesTo(interval))
                  return (
                    wanted?.wanted.action === 'drop' ||
                    (wanted?.wanted.action === 'load' &&
                      [...wanted.wanted.tieredReplicants.keys()].every(
                        (tier) => !(serverTiers as string[]).includes(tier),
                      ))
                  )
                })
                .map(({ interval }) => `${interval.start}/${interval.end}`),
            )
          for (let run = 0; run < 12; run++) {
            const before = visible()
            const mayGo = dropped()
            const result = plan(snapshot())
            for (const { id } of result.markUnused) used.delete(id)
            for (const one of result.loads) served[names.indexOf(one.server)]?.add(one.segmentId)
            for (const one of result.drops) served[names.indexOf(one.server)]?.delete(one.segmentId)
            const after = visible()
            for (const interval of before)
              if (!mayGo.has(interval)) assert.ok(after.has(interval), `lost ${interval}`)
          }
          const last = plan(snapshot())
          assert.deepEqual([last.loads, last.drops, last.markUnused], [[], [], []])
          for (const ids of served) for (const id of ids) assert.ok(used.has(id))
          const { segments, servers } = snapshot()
          if (segments.length === 0) return
          const table = tableOf(segments, servers)
          table.settleTimeline()
          const status = loadStatusOf(
            table,
            table.datasourceNumber('wiki'),
            own2,
            loadingServers(servers),
            now,
          )
          assert.equal(status.unavailableSegments, unplaceable(snapshot()))
        },
      ),
      { numRuns: 300 },
    )
  })

  /** Returns the number of segments that rules require only in tiers without servers. */
  function unplaceable({ segments, rules: given, servers }: Required<Given>): number {
    const present = new Set(servers.map(({ tier }) => tier))
    const { overshadowed } = analyzeTimeline(segments)
    return segments
      .filter((_, index) => !overshadowed[index])
      .filter(({ interval }) => {
        const rule = rulesOf(given, 'wiki', now).find((one) => one.appliesTo(interval))
        if (rule?.wanted.action !== 'load' || rule.wanted.tieredReplicants.size === 0) return false
        return [...rule.wanted.tieredReplicants.keys()].every((tier) => !present.has(tier))
      }).length
  }
})

it('gives the space of a full tier to the newest segments, of whichever datasource', () => {
  const dataSources = ['a', 'wiki']
  const segments = [9, 2, 5].flatMap((daysAgo) =>
    dataSources.flatMap((dataSource) => [
      segment(daysAgo, 'v1', { dataSource }),
      segment(daysAgo, 'v1', {
        dataSource,
        interval: { start: now - (daysAgo + 20) * day, end: now - (daysAgo - 1) * day },
      }),
    ]),
  )
  const { loads } = plan({ segments, servers: [server('s', { maxSizeBytes: 7 })] })
  const nameOf = ({ dataSource, interval: { start, end } }: Segment) =>
    `${dataSource} ${(now - end) / day} ${(end - start) / day}`
  const byId = new Map(segments.map((one) => [one.id, one]))
  assert.deepEqual(
    loads.map(({ segmentId: id }) => nameOf(byId.get(id)!)),
    ['wiki 1 1', 'a 1 1', 'wiki 1 21', 'a 1 21', 'wiki 4 1', 'a 4 1', 'wiki 4 21'],
  )
})
