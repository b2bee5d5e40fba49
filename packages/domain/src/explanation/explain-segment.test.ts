import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { copyFlag } from '../inventory/index.ts'
import { RetentionPlanner } from '../retention/index.ts'
import { parseRules, type Rule, ruleBoundariesOf } from '../rules/index.ts'
import { segmentId } from '../segment/index.ts'
import {
  loadingServers,
  namedCopies,
  type SimulatedServer,
  simulatedServer,
  tableOf,
} from '../testing/index.ts'
import { type ExplainedCluster, explainSegment } from './index.ts'

const day = 86_400_000
const now = Date.UTC(2026, 5, 15)
const limits = { maxLoadsPerServer: 5, replicationThrottleLimit: 10 }
const key = {
  dataSource: 'wiki',
  interval: { start: now - 40 * day, end: now - 39 * day },
  version: 'v1',
  partitionNum: 0,
}
const segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes: 100, totalRows: 1 }
const failure = { error: 'disk full', at: now - 5000, retryAt: now + 5000 }

/** What a test makes a server do with the segment. */
const conditions = [
  'serves',
  'loads',
  'drops',
  'free',
  'noSpace',
  'queueFull',
  'loadFailed',
  'leaving',
  'leavingServes',
] as const
type Condition = (typeof conditions)[number]

const others = new Set(['a', 'b', 'c', 'd', 'e'])

function serverIn(tier: string, name: string, condition: Condition): SimulatedServer {
  const with_ = (more: Partial<SimulatedServer>) =>
    simulatedServer({ name, tier, maxSizeBytes: 1000, ...more })
  const has = new Set([segment.id])
  switch (condition) {
    case 'serves':
      return with_({ served: has, usedSizeBytes: 100 })
    case 'loads':
      return with_({ loading: has, loadingSizeBytes: 100 })
    case 'drops':
      return with_({ served: has, dropping: has, usedSizeBytes: 100 })
    case 'noSpace':
      return with_({ usedSizeBytes: 901 })
    case 'queueFull':
      return with_({ loading: new Set(others) })
    case 'leaving':
      return with_({ decommissioning: true })
    case 'leavingServes':
      return with_({ decommissioning: true, served: has, usedSizeBytes: 100 })
    default:
      return with_({})
  }
}

interface GivenTier {
  readonly required: number
  readonly servers: readonly Condition[]
}

/** Returns the state that the tiers describe, with a rule that requires their replicas. */
function clusterOf(
  tiers: readonly GivenTier[],
  isThrottled = false,
  more: readonly object[] = [],
  replicationThrottleLimit = limits.replicationThrottleLimit,
) {
  const failing = new Set<string>()
  const servers = tiers.flatMap((tier, place) =>
    tier.servers.map((condition, index) => {
      const name = `t${place}-${index}`
      if (condition === 'loadFailed') failing.add(name)
      return serverIn(`t${place}`, name, condition)
    }),
  )
  const table = tableOf([segment], servers)
  const tieredReplicants = Object.fromEntries(tiers.map(({ required }, place) => [`t${place}`, required]))
  const rules = new Map<string, readonly Rule[]>([
    ['wiki', parseRules([...more, { type: 'loadForever', tieredReplicants }])],
  ])
  servers.forEach(({ name }, number) => {
    if (failing.has(name)) table.changeCopy(segment.id, number, copyFlag.refused, 0)
  })
  const cluster: ExplainedCluster = {
    table,
    rules,
    servers: loadingServers(servers),
    clones: [],
    limits: { ...limits, replicationThrottleLimit },
    now,
    isPaused: false,
    awaited: [],
    lastUnplaced: isThrottled
      ? tiers.map((_, place) => ({
          tier: `t${place}`,
          reason: 'replicationThrottled',
          copies: 1,
          exampleRow: 0,
        }))
      : [],
    failureOf: (number) => (failing.has(servers[number]!.name) ? failure : undefined),
  }
  return { cluster, servers, row: table.rowOf(segment.id) }
}

/** The causes that a tier was built with. */
function causesOfGiven({ required, servers }: GivenTier, isThrottled: boolean): string[] {
  const count = (...wanted: Condition[]) => servers.filter((each) => wanted.includes(each)).length
  const active = servers.length - count('leaving', 'leavingServes')
  if (required === 0 || count('serves') >= required) return []
  if (servers.length === 0) return ['tierWithoutServers']
  if (active === 0) return ['allDecommissioning']
  const missing = Math.min(required, active) - count('serves', 'loads')
  const obstacles: [string, number][] = [
    ['loadFailed', count('loadFailed')],
    ['beingDropped', count('drops')],
    ['noSpace', count('noSpace')],
    ['queueFull', count('queueFull')],
  ]
  const present = obstacles.filter(([, servers]) => servers > 0).map(([code]) => code)
  return [
    ...(active < required ? ['tooFewServers'] : []),
    ...(count('loads') > 0 ? ['loading'] : []),
    ...(missing > count('free') ? present : []),
    ...(missing > 0 && count('free') > 0
      ? [isThrottled && count('serves', 'loads') > 0 ? 'replicationThrottled' : 'nextRun']
      : []),
  ]
}

const givenTiers = fc.array(
  fc.record({
    required: fc.integer({ min: 0, max: 3 }),
    servers: fc.array(fc.constantFrom(...conditions), { maxLength: 5 }),
  }),
  { minLength: 1, maxLength: 3 },
)

describe('the explanation of a segment', () => {
  it('names every cause that a state was built with, and no other', () => {
    fc.assert(
      fc.property(givenTiers, fc.boolean(), (tiers, isThrottled) => {
        const { cluster, row } = clusterOf(tiers, isThrottled)
        const { causes, state } = explainSegment(cluster, row)
        const found = causes.map(({ code, tier }) => (tier === undefined ? code : `${tier} ${code}`))
        const expected = tiers.flatMap((tier, place) =>
          causesOfGiven(tier, isThrottled).map((code) => `t${place} ${code}`),
        )
        const wantsNone = tiers.every(({ required }) => required === 0)
        assert.deepEqual(found.sort(), (wantsNone ? ['noReplicas'] : expected).sort())
        assert.equal(state === 'unwanted', wantsNone)
        if (!wantsNone) assert.equal(state === 'loaded', expected.length === 0)
      }),
      { numRuns: 2000 },
    )
  })

  it('says what the next run then does', () => {
    fc.assert(
      fc.property(givenTiers, fc.boolean(), fc.nat(3), (tiers, drops, throttleLimit) => {
        const dropRules = drops ? [{ type: 'dropForever' }] : []
        const { cluster, servers, row } = clusterOf(tiers, false, dropRules, throttleLimit)
        const { next } = explainSegment(cluster, row)
        const run = new RetentionPlanner(cluster.table).begin(cluster, true)
        const done = { load: new Set<string>(), cancelLoad: new Set<string>(), drop: new Set<string>() }
        let isMarked = false
        for (let part = run.next(); part !== undefined; part = run.next()) {
          const names = (list: typeof part.loads) =>
            namedCopies(cluster.table, servers, list)
              .filter(({ segmentId }) => segmentId === segment.id)
              .map(({ server }) => server)
          for (const name of names(part.loads)) done.load.add(name)
          for (const name of names(part.cancelledLoads)) done.cancelLoad.add(name)
          for (const name of names(part.drops)) done.drop.add(name)
          isMarked ||= part.markUnused.some(({ rows }) => rows.includes(row))
        }
        for (const [code, expected] of Object.entries(done)) {
          const event = next.find((one) => one.code === code)
          const named = event?.text.match(/t\d-\d/g) ?? []
          const more = Number(/ and (\d+) more/.exec(event?.text ?? '')?.[1] ?? 0)
          assert.equal(named.length + more, expected.size, `${code}: ${event?.text}`)
          for (const name of named) assert.ok(expected.has(name), `${code}: ${event?.text}`)
        }
        assert.equal(
          next.some(({ code }) => code === 'markUnused'),
          isMarked,
        )
      }),
      { numRuns: 2000 },
    )
  })

  it('says that a clone has it, or why it does not', () => {
    const { cluster, row } = clusterOf([{ required: 1, servers: ['serves', 'free', 'free', 'serves'] }])
    const [first, second, third, fourth] = cluster.servers
    const clones = [
      { target: second!, source: first!.number, sourceName: first!.name },
      { target: third!, source: undefined, sourceName: 'gone' },
      { target: fourth!, source: first!.number, sourceName: first!.name },
    ]
    const { servers, tiers } = explainSegment({ ...cluster, servers: [first!], clones }, row)
    assert.deepEqual(
      servers.map(({ server, obstacle, text }) => [server, obstacle, text]),
      [
        ['t0-0', undefined, 'Serves the segment'],
        ['t0-3', undefined, 'Serves the segment as a clone of [t0-0]; this copy does not count as a replica'],
        [
          't0-1',
          'clone',
          'Clone of [t0-0], which has the segment: the clone loads it when its queue and storage have space',
        ],
        [
          't0-2',
          'clone',
          'Clone of [gone], which is unavailable, so the clone neither loads nor drops segments',
        ],
      ],
    )
    assert.equal(tiers[0]!.served, 1)
    const { cluster: without, row: other } = clusterOf([{ required: 1, servers: ['free', 'free'] }])
    const [source, target] = without.servers
    const clone = { target: target!, source: source!.number, sourceName: source!.name }
    const found = explainSegment({ ...without, servers: [source!], clones: [clone] }, other)
    assert.match(
      found.servers[1]!.text,
      /which does not have the segment: a clone loads only the segments of its source$/,
    )
  })

  it('names the rule that applies, why earlier ones do not, and when that changes', () => {
    const tiers: GivenTier[] = [{ required: 1, servers: ['serves'] }]
    const { cluster, row } = clusterOf(tiers, false, [
      { type: 'dropByInterval', interval: '2020-01-01/2021-01-01' },
      { type: 'dropBeforeByPeriod', period: 'P2M' },
      { type: 'loadByPeriod', period: 'P1M', tieredReplicants: { t0: 1 } },
    ])
    const { rules, next, summary } = explainSegment(cluster, row)
    assert.equal(rules.matched.rule.type, 'loadForever')
    assert.deepEqual(
      rules.passed.map(({ text }) => text),
      [
        'The segment ends at 2026-05-07T00:00:00.000Z, but the rule applies only to segments that end at 2021-01-01T00:00:00.000Z or earlier',
        'The segment ends at 2026-05-07T00:00:00.000Z, but the rule applies only to segments that end at 2026-04-15T00:00:00.000Z or earlier',
        'The segment ends at 2026-05-07T00:00:00.000Z, but the rule applies only to data after 2026-05-15T00:00:00.000Z',
      ],
    )
    assert.deepEqual(next, [
      {
        code: 'ruleChange',
        at: Date.UTC(2026, 6, 7),
        text: 'The segment matches rule [1] (dropBeforeByPeriod P2M)',
      },
    ])
    assert.equal(summary, 'The segment has all its replicas: [t0] 1 of 1')
  })

  it('predicts the next rule for any list of rules', () => {
    const period = fc.constantFrom('P1D', 'P1M', 'P2M', 'P40D', 'P1Y', 'PT36H')
    const rule = fc.oneof(
      fc.record({ type: fc.constantFrom('dropBeforeByPeriod'), period }),
      fc.record({
        type: fc.constantFrom('loadByPeriod', 'dropByPeriod', 'broadcastByPeriod'),
        period,
        includeFuture: fc.boolean(),
      }),
    )
    const interval = fc
      .tuple(fc.integer({ min: -500, max: 500 }), fc.integer({ min: 1, max: 40 }))
      .map(([from, days]) => ({ start: now + from * day, end: now + (from + days) * day }))
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), interval, (list, given) => {
        const other = { ...segment, interval: given }
        const one = { ...other, id: segmentId(other) }
        const rules = new Map<string, readonly Rule[]>([['wiki', parseRules(list)]])
        const table = tableOf([one], [])
        const { cluster } = clusterOf([])
        const explained = explainSegment({ ...cluster, table, rules, servers: [] }, table.rowOf(one.id))
        const matchAt = (at: number) => ruleBoundariesOf(rules, 'wiki', at).match(given)
        const { matched, next } = explained.rules
        assert.equal(matchAt(now), matched.number)
        const end = next?.at ?? now + 3000 * day
        if (next !== undefined) assert.equal(matchAt(end), next.rule.number)
        // Between now and then, nothing changes, except for up to three days at the end of a month.
        for (let at = now; at < end - 4 * day; at += day) assert.equal(matchAt(at), matched.number)
      }),
      { numRuns: 300 },
    )
  })
})
