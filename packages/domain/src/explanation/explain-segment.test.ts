import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { copyFlag } from '../inventory/index.ts'
import { PlacementPlanner } from '../loading/index.ts'
import { RetentionPlanner } from '../retention/index.ts'
import { parseRules, type Rule, ruleBoundariesOf } from '../rules/index.ts'
import { segmentId } from '../segment/index.ts'
import { finish } from '../steps/index.ts'
import {
  loadingServers,
  namedCopies,
  type SimulatedServer,
  simulatedServer,
  tableOf,
} from '../testing/index.ts'
import { awaitsRun, type ExplainedCluster, explainSegment, forecastRun } from './index.ts'
import { plannedServers } from './unreported-servers.ts'

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
const failure = { failures: 1, error: 'disk full', at: now - 5000, retryAt: now + 5000, isResting: true }

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

/** The state of a cluster around the tiers. */
interface Surroundings {
  /** Rules before the one that requires the replicas of the tiers. */
  readonly earlierRules?: readonly object[]
  readonly replicationThrottleLimit?: number
  readonly isPaused?: boolean
  /** The tiers of servers that have not reported to the leader; undefined for one in an unknown tier. */
  readonly awaitedTiers?: readonly (string | undefined)[]
  readonly isOvershadowed?: boolean
  /** Adds a clone that would have space to each tier. */
  readonly hasClones?: boolean
}

/** Returns the state that the tiers describe, with a rule that requires their replicas. */
function clusterOf(tiers: readonly GivenTier[], surroundings: Surroundings = {}) {
  const {
    earlierRules = [],
    replicationThrottleLimit = limits.replicationThrottleLimit,
    isPaused = false,
    awaitedTiers = [],
    isOvershadowed = false,
    hasClones = false,
  } = surroundings
  const failing = new Set<string>()
  const servers = tiers.flatMap((tier, place) =>
    tier.servers.map((condition, index) => {
      const name = `t${place}-${index}`
      if (condition === 'loadFailed') failing.add(name)
      return serverIn(`t${place}`, name, condition)
    }),
  )
  const cloneServers = hasClones ? tiers.map((_, place) => serverIn(`t${place}`, `c${place}`, 'free')) : []
  const newer = { ...key, version: 'v2' }
  const newerSegment = { ...segment, ...newer, id: segmentId(newer) }
  const table = tableOf(isOvershadowed ? [segment, newerSegment] : [segment], [...servers, ...cloneServers])
  table.settleTimeline()
  const tieredReplicants = Object.fromEntries(tiers.map(({ required }, place) => [`t${place}`, required]))
  const rules = new Map<string, readonly Rule[]>([
    ['wiki', parseRules([...earlierRules, { type: 'loadForever', tieredReplicants }])],
    ['_default', parseRules([{ type: 'loadForever', tieredReplicants: { other: 3 } }])],
  ])
  servers.forEach(({ name }, number) => {
    if (failing.has(name)) table.changeCopy(segment.id, number, copyFlag.refused, 0)
  })
  const numbered = loadingServers([...servers, ...cloneServers])
  const cluster: ExplainedCluster = {
    table,
    rules,
    servers: numbered.slice(0, servers.length),
    clones: numbered
      .slice(servers.length)
      .map((target) => ({ target, source: undefined, sourceName: 'gone' })),
    limits: { ...limits, replicationThrottleLimit },
    now,
    isPaused,
    awaited: awaitedTiers.map((tier, index) => ({ name: `unknown-${index}`, tier })),
    unannounced: [],
    lost: [],
    seesCluster: true,
    overshadowedWaitUntil: undefined,
    nextRun: { at: now + 3000, inMs: 3000 },
    rateOf: () => ({ msPerSegment: 1000, msPerByte: 1 }),
    failureOf: (number) => (failing.has(servers[number]?.name ?? '') ? failure : undefined),
  }
  return { cluster, servers, row: table.rowOf(segment.id) }
}

const explain = (cluster: ExplainedCluster, row: number) =>
  explainSegment(cluster, row, finish(forecastRun(cluster)))

/** The causes that a tier was built with. */
function causesOfGiven(
  { required, servers }: GivenTier,
  { throttleLimit, isPaused, isAwaited }: { throttleLimit: number; isPaused: boolean; isAwaited: boolean },
): string[] {
  const count = (...wanted: Condition[]) => servers.filter((each) => wanted.includes(each)).length
  const active = servers.length - count('leaving', 'leavingServes')
  if (required === 0 || count('serves') >= required) return []
  if (servers.length === 0) return isAwaited ? [] : ['tierWithoutServers']
  if (active === 0) return ['allDecommissioning']
  const missing = Math.min(required, active) - count('serves', 'loads')
  const obstacles: [string, number][] = [
    ['beingDropped', count('drops')],
    ['noSpace', count('noSpace')],
    ['queueFull', count('queueFull')],
  ]
  const present = obstacles.filter(([, servers]) => servers > 0).map(([code]) => code)
  const able = Math.min(missing, count('free'))
  // The first replica of a segment in a tier is not an additional one.
  const isFirst = count('serves', 'loads', 'leavingServes') === 0
  const planned = Math.min(able, throttleLimit + (isFirst ? 1 : 0))
  return [
    ...(active < required ? ['tooFewServers'] : []),
    ...(count('loads') > 0 ? ['loading'] : []),
    ...(count('loadFailed') > 0 ? ['loadFailed'] : []),
    ...(missing > count('free') ? present : []),
    ...(!isPaused && planned > 0 ? ['nextRun'] : []),
    ...(!isPaused && planned < able ? ['replicationThrottled'] : []),
  ]
}

const givenTiers = fc.array(
  fc.record({
    required: fc.integer({ min: 0, max: 3 }),
    servers: fc.array(fc.constantFrom(...conditions), { maxLength: 5 }),
  }),
  { minLength: 1, maxLength: 3 },
)

/** Earlier rules, and whether they apply to the segment. */
const earlierRules: readonly { readonly rules: readonly object[]; readonly drops: boolean }[] = [
  { rules: [], drops: false },
  { rules: [{ type: 'dropByInterval', interval: '2020-01-01/2021-01-01' }], drops: false },
  { rules: [{ type: 'loadByPeriod', period: 'P1D', tieredReplicants: { t0: 9, t1: 9 } }], drops: false },
  {
    rules: [{ type: 'loadByPeriod', period: 'P1D', tieredReplicants: { t0: 9 } }, { type: 'dropForever' }],
    drops: true,
  },
]

const rarely = fc.oneof(
  { weight: 5, arbitrary: fc.constant(false) },
  { weight: 1, arbitrary: fc.constant(true) },
)

const givenSurroundings = fc.record({
  rules: fc.oneof({ weight: 3, arbitrary: fc.constant(earlierRules[0]!) }, fc.constantFrom(...earlierRules)),
  throttleLimit: fc.nat(3),
  isPaused: rarely,
  awaitedTiers: fc.oneof(
    { weight: 3, arbitrary: fc.constant<(string | undefined)[]>([]) },
    fc.array(fc.constantFrom<string | undefined>('t0', 't1', 'elsewhere', undefined), {
      minLength: 1,
      maxLength: 2,
    }),
  ),
  isOvershadowed: rarely,
  hasClones: fc.boolean(),
})

/** A segment among several, the newest first. */
function competing(index: number) {
  const interval = { start: now - (40 + index) * day, end: now - (39 + index) * day }
  const one = { ...key, interval }
  return { ...segment, ...one, id: segmentId(one) }
}

interface Competition {
  readonly tiers: readonly (readonly { readonly maxSegments: number; readonly leaves: boolean }[])[]
  readonly required: readonly number[]
  /** What each server does with each segment, in turn. */
  readonly segments: readonly (readonly ('serves' | 'loads' | 'drops' | 'nothing')[])[]
}

const competition: fc.Arbitrary<Competition> = fc.record({
  tiers: fc.array(
    fc.array(fc.record({ maxSegments: fc.integer({ min: 1, max: 4 }), leaves: rarely }), { maxLength: 3 }),
    { minLength: 1, maxLength: 2 },
  ),
  required: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 2, maxLength: 2 }),
  segments: fc.array(
    fc.array(fc.constantFrom('serves', 'loads', 'drops', 'nothing', 'nothing', 'nothing'), {
      minLength: 6,
      maxLength: 6,
    }),
    { minLength: 2, maxLength: 12 },
  ),
})

/** Returns a cluster in which segments compete for the queues and the space of servers. */
function competitionOf({ tiers, required, segments }: Competition, throttleLimit: number, drops: boolean) {
  const places = tiers.flatMap((members, tier) =>
    members.map((member, index) => ({ ...member, tier, index })),
  )
  const servers = places.map(({ maxSegments, leaves, tier, index }, position) => {
    const withState = (wanted: string) =>
      new Set(segments.flatMap((does, number) => (does[position] === wanted ? [competing(number).id] : [])))
    const [loading, dropping] = [withState('loads'), withState('drops')]
    const served = new Set([...withState('serves'), ...dropping])
    return simulatedServer({
      name: `t${tier}-${index}`,
      tier: `t${tier}`,
      decommissioning: leaves,
      maxSizeBytes: (maxSegments + served.size) * 100,
      usedSizeBytes: served.size * 100,
      loadingSizeBytes: loading.size * 100,
      ...{ served, loading, dropping },
    })
  })
  const table = tableOf(
    segments.map((_, index) => competing(index)),
    servers,
  )
  const tieredReplicants = Object.fromEntries(required.map((count, tier) => [`t${tier}`, count]))
  const dropRule = { type: 'dropByInterval', interval: '2026-04-25/2026-05-01' }
  const rules = parseRules([...(drops ? [dropRule] : []), { type: 'loadForever', tieredReplicants }])
  const { cluster: any } = clusterOf([])
  const cluster: ExplainedCluster = {
    ...any,
    table,
    rules: new Map([['wiki', rules]]),
    servers: loadingServers(servers),
    limits: { maxLoadsPerServer: 3, replicationThrottleLimit: throttleLimit },
  }
  return { cluster, servers }
}

describe('the explanation of a segment', () => {
  it('names every cause that a state was built with, and no other', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(givenTiers, givenSurroundings, (tiers, { rules, throttleLimit, ...given }) => {
        const { cluster, row } = clusterOf(tiers, {
          ...given,
          earlierRules: rules.rules,
          replicationThrottleLimit: throttleLimit,
        })
        const { causes, state } = explain(cluster, row)
        const found = causes.map(({ code, tier }) => (tier === undefined ? code : `${tier} ${code}`))
        for (const { code } of causes) seen.add(code)
        const { isPaused, awaitedTiers, isOvershadowed } = given
        const isMissing = tiers.some(
          ({ required, servers }) => servers.filter((one) => one === 'serves').length < required,
        )
        const ofTiers = tiers.flatMap((tier, place) =>
          causesOfGiven(tier, {
            throttleLimit,
            isPaused,
            // A server in an unknown tier may be in this one.
            isAwaited: awaitedTiers.includes(`t${place}`) || awaitedTiers.includes(undefined),
          }).map((code) => `t${place} ${code}`),
        )
        const wantsNone = tiers.every(({ required }) => required === 0)
        const expected = isOvershadowed
          ? ['overshadowed']
          : rules.drops
            ? ['dropRule']
            : wantsNone
              ? ['noReplicas']
              : [
                  ...ofTiers,
                  ...(isMissing && isPaused ? ['paused'] : []),
                  ...(isMissing && awaitedTiers.length > 0 ? ['serversUnknown'] : []),
                ]
        assert.deepEqual(found.sort(), expected.sort())
        if (isOvershadowed) assert.equal(state, 'overshadowed')
        else if (rules.drops || wantsNone) assert.equal(state, 'unwanted')
        else assert.equal(state === 'loaded', !isMissing)
      }),
      { numRuns: 2000, seed: 21 },
    )
    // All causes but `behindOthers`, which requires other segments.
    assert.equal(seen.size, 15, [...seen].join())
  })

  it('awaits a run exactly if a planner with all servers may change something, although it uses only some of them', () => {
    const seen = new Set<boolean>()
    fc.assert(
      fc.property(givenTiers, givenSurroundings, (tiers, { rules, throttleLimit, isPaused, ...given }) => {
        const { cluster, row } = clusterOf(tiers, {
          ...given,
          earlierRules: rules.rules,
          replicationThrottleLimit: throttleLimit,
        })
        const planner = new PlacementPlanner(cluster.table, plannedServers(cluster), cluster.limits)
        const boundaries = ruleBoundariesOf(cluster.rules, 'wiki', now)
        const prepared = planner.prepare(boundaries.wantedBy(boundaries.match(key.interval)))
        const expected = !given.isOvershadowed && planner.mayChange(row, prepared)
        assert.equal(awaitsRun(cluster, row), expected)
        seen.add(expected)
        assert.equal(awaitsRun({ ...cluster, isPaused }, row), expected && !isPaused)
      }),
      { numRuns: 2000, seed: 21 },
    )
    assert.equal(seen.size, 2)
  })

  it('says what the next run then does, while segments compete for servers', () => {
    const codes = new Set<string>()
    fc.assert(
      fc.property(competition, fc.nat(3), fc.boolean(), (given, throttleLimit, drops) => {
        const { cluster, servers } = competitionOf(given, throttleLimit, drops)
        const { table } = cluster
        const forecast = finish(forecastRun(cluster))
        const rows = given.segments.map((_, index) => table.rowOf(competing(index).id))
        const explained = rows.map((row) => explainSegment(cluster, row, forecast))
        for (const { causes } of explained) for (const { code } of causes) codes.add(code)
        const run = new RetentionPlanner(table).begin(cluster, true)
        const done = { load: [] as string[], cancelLoad: [] as string[], drop: [] as string[] }
        const markedRows = new Set<number>()
        const queued = new Map(cluster.servers.map(({ name, queuedLoads }) => [name, queuedLoads]))
        for (let part = run.next(); part !== undefined; part = run.next()) {
          for (const { server, segmentId: id } of namedCopies(table, servers, part.loads)) {
            queued.set(server, queued.get(server)! + 1)
            done.load.push(`${id} ${server} ${queued.get(server)}`)
          }
          for (const { server, segmentId: id } of namedCopies(table, servers, part.cancelledLoads))
            done.cancelLoad.push(`${id} ${server}`)
          for (const { server, segmentId: id } of namedCopies(table, servers, part.drops))
            done.drop.push(`${id} ${server}`)
          for (const { rows } of part.markUnused) for (const row of rows) markedRows.add(row)
        }
        const said = { load: [] as string[], cancelLoad: [] as string[], drop: [] as string[] }
        const waiting = new Map<string, number>()
        for (const [index, { next, segment: id, tiers }] of explained.entries()) {
          assert.equal(
            next.some(({ code }) => code === 'markUnused'),
            markedRows.has(rows[index]!),
          )
          for (const { code, text, place } of next) {
            if (code === 'wait') {
              const [, tier, of] = /Tier \[(.*?)\].* of \[(\d+)\] in the tier$/.exec(text)!
              waiting.set(tier!, Number(of))
            }
            if (code !== 'load' && code !== 'cancelLoad' && code !== 'drop') continue
            for (const name of text.match(/t\d-\d/g) ?? [])
              said[code].push(`${id} ${name}${place === undefined ? '' : ` ${place}`}`)
          }
          for (const tier of tiers) {
            const planned = done.load.filter((one) => one.startsWith(`${id} ${tier.tier}-`)).length
            const isSaid = explained[index]!.causes.some(
              (cause) => cause.tier === tier.tier && cause.code === 'nextRun',
            )
            if (tier.required > tier.served) assert.equal(isSaid, planned > 0)
          }
        }
        for (const code of ['load', 'cancelLoad', 'drop'] as const)
          assert.deepEqual(said[code].sort(), done[code].sort())
        for (const [tier, list] of Map.groupBy(run.unplaced(), (one) => one.tier))
          assert.equal(
            waiting.get(tier),
            list.reduce((sum, { copies }) => sum + copies, 0),
          )
      }),
      { numRuns: 2000, seed: 21 },
    )
    assert.ok(codes.has('behindOthers') && codes.has('replicationThrottled'), [...codes].join())
  })

  it('says which segments the next run assigns if 22 compete for two queues of one load', () => {
    const servers = ['t0-0', 't0-1'].map((name) => simulatedServer({ name, tier: 't0', maxSizeBytes: 1e6 }))
    const segments = Array.from({ length: 22 }, (_, index) => competing(index))
    const table = tableOf(segments, servers)
    const { cluster: any } = clusterOf([])
    const cluster: ExplainedCluster = {
      ...any,
      table,
      rules: new Map([['wiki', parseRules([{ type: 'loadForever', tieredReplicants: { t0: 1 } }])]]),
      servers: loadingServers(servers),
      limits: { maxLoadsPerServer: 1, replicationThrottleLimit: 10 },
    }
    const forecast = finish(forecastRun(cluster))
    const found = segments.map(({ id }) => explainSegment(cluster, table.rowOf(id), forecast))
    // The newest first.
    assert.deepEqual(
      found.map(({ causes }) => causes.map(({ code }) => code).join()),
      ['nextRun', 'nextRun', ...Array(20).fill('behindOthers')],
    )
    assert.equal(
      found[2]!.summary,
      'The segment is not available for queries: [t0] has 0 of 1 replica. Tier [t0]: 1 replica is waiting for a later run; the next run uses the load queues for segments that come first',
    )
    assert.deepEqual(found[16]!.next, [
      {
        code: 'wait',
        text: 'Tier [t0]: 1 replica is waiting for a later run, at position [15] of [20] in the tier',
        place: 15,
      },
    ])
    assert.deepEqual(found[0]!.next, [
      {
        code: 'load',
        at: now + 3000,
        text: 'The next run assigns the segment to [t0-0], at position [1] in its load queue; it is expected to be loaded at 2026-06-15T00:00:04.100Z',
        place: 1,
        doneAt: now + 4100,
      },
    ])
  })

  it('says when a queued load is expected to end, and what is before it', () => {
    const segments = [0, 1, 2].map(competing)
    const server = simulatedServer({
      name: 't0-0',
      tier: 't0',
      maxSizeBytes: 1e6,
      loading: new Set(segments.map(({ id }) => id)),
      loadingSizeBytes: 300,
    })
    const { cluster: any } = clusterOf([])
    const table = tableOf(segments, [server])
    const rules = new Map([['wiki', parseRules([{ type: 'loadForever', tieredReplicants: { t0: 1 } }])]])
    const cluster = { ...any, table, rules, servers: loadingServers([server]) }
    const rowOf = (index: number) => table.rowOf(segments[index]!.id)
    // The oldest was requested first, the others later by the same run.
    for (const index of [0, 1]) table.noteSent(table.copies.find(rowOf(index), 0), 5)
    table.noteSent(table.copies.find(rowOf(2), 0), 1)
    assert.deepEqual(
      [2, 0, 1].map((index) => explain(cluster, rowOf(index)).next),
      [1, 2, 3].map((place) => {
        const doneAt = now + place * 1100
        const text = `Server [t0-0] loads the segment, at position [${place}] of [3] in its load queue; it is expected to be loaded at ${new Date(doneAt).toISOString()}`
        return [{ code: 'loaded', text, place, at: doneAt, doneAt }]
      }),
    )
  })

  it('says that a segment is too large for every server of a tier', () => {
    const segment = competing(0)
    const servers = ['t0-0', 't0-1'].map((name) => simulatedServer({ name, tier: 't0', maxSizeBytes: 99 }))
    const { cluster: any } = clusterOf([])
    const table = tableOf([segment], servers)
    const rules = new Map([['wiki', parseRules([{ type: 'loadForever', tieredReplicants: { t0: 1 } }])]])
    const cluster = { ...any, table, rules, servers: loadingServers(servers) }
    assert.deepEqual(explain(cluster, table.rowOf(segment.id)).next, [
      {
        code: 'wait',
        text: 'Tier [t0]: the segment needs 100 B, and the largest server has 99 B',
        place: 1,
      },
    ])
  })

  it('counts the queued loads that it does not describe', () => {
    const segment = competing(0)
    const servers = Array.from({ length: 7 }, (_, index) =>
      simulatedServer({
        name: `t0-${index}`,
        tier: 't0',
        maxSizeBytes: 1e6,
        loading: new Set([segment.id]),
        loadingSizeBytes: 100,
      }),
    )
    const { cluster: any } = clusterOf([])
    const table = tableOf([segment], servers)
    const rules = new Map([['wiki', parseRules([{ type: 'loadForever', tieredReplicants: { t0: 7 } }])]])
    const { next } = explain(
      { ...any, table, rules, servers: loadingServers(servers) },
      table.rowOf(segment.id),
    )
    const text = 'The segment is in the load queues of 2 more servers'
    assert.deepEqual([next.length, next.at(-1)], [6, { code: 'loaded', text }])
  })

  const earlier = { ...failure, failures: 4, isResting: false }
  const earlierText = 'Failed to load the segment 4 times, last at 2026-06-14T23:59:55.000Z (disk full)'
  const explainWith = (servers: Condition[], surroundings: Surroundings = {}, latest = earlier) => {
    const { cluster, row } = clusterOf([{ required: 1, servers }], surroundings)
    return explain({ ...cluster, failureOf: (number) => (number === 0 ? latest : undefined) }, row)
  }

  it('shows failures until the segment is loaded, even when the load may be retried or the server is full', () => {
    for (const [condition, before, causes, retry] of [
      [
        'free',
        'Can load the segment: 1.0 kB of 1.0 kB free',
        ['loadFailed', 'nextRun'],
        '; the next run may retry it',
      ],
      [
        'noSpace',
        'Not enough space: 99 B of 1.0 kB free, and the segment needs 100 B',
        ['loadFailed', 'noSpace'],
        '',
      ],
      ['loads', 'Has the segment in its load queue (1 segment queued)', ['loading', 'loadFailed'], ''],
    ] as const) {
      const found = explainWith([condition])
      assert.deepEqual(
        found.causes.map(({ code }) => code),
        causes,
      )
      assert.deepEqual(
        found.servers.map((server) => [server.text, server.failure]),
        [[`${before}. ${earlierText}${retry}`, earlier]],
      )
    }
    assert.equal(explainWith(['serves']).servers[0]!.failure, undefined)
  })

  it('says that a load may be retried only if a run may assign the segment to the server', () => {
    const cases: [servers: Condition[], surroundings: Surroundings, mayRetry: boolean][] = [
      [['free'], {}, true],
      [['queueFull'], {}, true],
      [['leaving', 'free'], {}, false],
      [['noSpace'], {}, false],
      [['free', 'serves'], {}, false],
      [['free', 'loads'], {}, false],
      [['free'], { isPaused: true }, false],
      [['free'], { isOvershadowed: true }, false],
      [['free'], { earlierRules: [{ type: 'dropForever' }] }, false],
    ]
    for (const [servers, surroundings, mayRetry] of cases) {
      const found = explainWith(servers, surroundings)
      const { text } = found.servers.find(({ server }) => server === 't0-0')!
      assert.equal(
        text.endsWith(`${earlierText}${mayRetry ? '; the next run may retry it' : ''}`),
        true,
        text,
      )
    }
  })

  it('says when a failed load may be requested again, but not of a server that could not take it then', () => {
    const refusedOn = (condition: Condition) => {
      const { cluster, row } = clusterOf([{ required: 1, servers: [condition] }])
      cluster.table.changeCopy(segment.id, 0, copyFlag.refused, 0)
      const { servers, next } = explain({ ...cluster, failureOf: () => failure }, row)
      return [servers[0]!.obstacle, servers[0]!.text, next.some(({ code }) => code === 'retry')]
    }
    const text = 'Failed to load the segment at 2026-06-14T23:59:55.000Z (disk full)'
    assert.deepEqual(refusedOn('free'), [
      'loadFailed',
      `${text}; the next attempt is at 2026-06-15T00:00:05.000Z or later`,
      true,
    ])
    assert.deepEqual(refusedOn('leaving'), [
      'decommissioning',
      `Decommissioning, so it loads nothing. ${text}`,
      false,
    ])
    assert.deepEqual(refusedOn('noSpace'), [
      'noSpace',
      `Not enough space: 99 B of 1.0 kB free, and the segment needs 100 B. ${text}`,
      false,
    ])
  })

  it('says how many servers are decommissioning or stopped reporting if a tier has too few', () => {
    const textOf = (servers: Parameters<typeof clusterOf>[0][number]['servers'], isLost: boolean) => {
      const { cluster, row } = clusterOf([{ required: 2, servers }])
      const lost = isLost ? [{ name: 'gone', tier: 't0', lastSeenAt: now }] : []
      const all = { ...cluster, lost }
      return explainSegment(all, row, finish(forecastRun(all))).causes.map(({ text }) => text)[0]
    }
    const gone = '; 1 server stopped reporting'
    assert.equal(textOf([], true), `Tier [t0]: no servers for 2 replicas${gone}`)
    assert.equal(
      textOf(['serves', 'leaving'], false),
      'Tier [t0]: only 1 server that is not decommissioning, and a server loads at most one replica of a segment',
    )
    assert.equal(
      textOf(['leaving'], true),
      `Tier [t0]: all servers are decommissioning, so none of them loads segments${gone}`,
    )
  })

  it('does not count replicas on decommissioning servers, and says so', () => {
    const summaryWith = (...servers: Condition[]) => {
      const { cluster, row } = clusterOf([{ required: 2, servers }])
      return explain(cluster, row).summary.split('. ')[0]
    }
    const counted = 'The segment is under-replicated: [t0] has 1 of 2 replicas'
    assert.equal(summaryWith('serves'), counted)
    assert.equal(
      summaryWith('serves', 'leavingServes'),
      `${counted} (not counting 1 on a decommissioning server)`,
    )
    assert.equal(
      summaryWith('serves', 'leavingServes', 'leavingServes'),
      `${counted} (not counting 2 on decommissioning servers)`,
    )
  })

  it('counts replicas in a tier whose servers are all decommissioning as missing after the next run', () => {
    const unplacedWith = (servers: readonly Condition[]) =>
      finish(forecastRun(clusterOf([{ required: 2, servers }]).cluster)).totals(() => true).unplaced
    assert.equal(unplacedWith(['leaving', 'leaving']), 2)
    assert.equal(unplacedWith(['serves', 'serves', 'leaving']), 0)
  })

  it('says when a new leader begins to mark overshadowed segments as unused', () => {
    const { cluster, row } = clusterOf([{ required: 1, servers: ['serves'] }], { isOvershadowed: true })
    const until = now + 60_000
    const textOf = (more: Partial<ExplainedCluster>) => {
      const { causes, next } = explain({ ...cluster, ...more }, row)
      return [causes.map(({ text }) => text).join(), next.map(({ code, at }) => [code, at])] as const
    }
    const [atOnce, nothing] = textOf({})
    assert.match(atOnce, /version \[v2\] and will be marked as unused once .* are served$/)
    assert.deepEqual(nothing, [])
    const [later, marked] = textOf({ overshadowedWaitUntil: until })
    assert.match(
      later,
      /are served, but not before 2026-06-15T00:01:00\.000Z: a new leader first waits \[millisToWaitBeforeDeleting\]/,
    )
    assert.deepEqual(marked, [['markUnused', until]])
    const [paused, never] = textOf({ overshadowedWaitUntil: until, isPaused: true })
    assert.match(paused, /milliseconds\. Coordination is paused: \[pauseCoordination\] is \[true\]$/)
    assert.deepEqual(never, [])
  })

  it('lists expected servers that have not announced themselves', () => {
    const { cluster, row } = clusterOf([{ required: 1, servers: [] }])
    const { causes, servers } = explain({ ...cluster, unannounced: ['hanging'] }, row)
    assert.deepEqual(
      causes.map(({ code }) => code),
      ['tierWithoutServers', 'serversUnknown'],
    )
    assert.deepEqual(
      servers.map(({ server, state }) => [server, state]),
      [['hanging', 'unknown']],
    )
  })

  it('lists servers that have not reported or stopped reporting', () => {
    const { cluster, row } = clusterOf([{ required: 1, servers: [] }], { awaitedTiers: ['t0', 'elsewhere'] })
    const lost = [
      { name: 'gone', tier: 't0', lastSeenAt: now - 1000 },
      { name: 'other', tier: 'elsewhere', lastSeenAt: now },
    ]
    assert.deepEqual(explain({ ...cluster, lost }, row).servers, [
      {
        server: 'unknown-0',
        tier: 't0',
        state: 'unknown',
        text: 'Has not reported its segments to this leader yet',
      },
      {
        server: 'gone',
        tier: 't0',
        state: 'unknown',
        text: 'Stopped reporting: it was last seen at 2026-06-14T23:59:59.000Z, and its replicas no longer count',
      },
    ])
  })

  it('says that a clone has it, or why it does not', () => {
    const { cluster, row } = clusterOf([{ required: 1, servers: ['serves', 'free', 'free', 'serves'] }])
    const [first, second, third, fourth] = cluster.servers
    const clones = [
      { target: second!, source: first!.number, sourceName: first!.name },
      { target: third!, source: undefined, sourceName: 'gone' },
      { target: fourth!, source: first!.number, sourceName: first!.name },
    ]
    const { servers, tiers } = explain({ ...cluster, servers: [first!], clones }, row)
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
    const found = explain({ ...without, servers: [source!], clones: [clone] }, other)
    assert.match(
      found.servers[1]!.text,
      /which does not have the segment: a clone loads only the segments of its source$/,
    )
  })

  it('names the rule that applies, why earlier ones do not, and when that changes', () => {
    const tiers: GivenTier[] = [{ required: 1, servers: ['serves'] }]
    const { cluster, row } = clusterOf(tiers, {
      earlierRules: [
        { type: 'dropByInterval', interval: '2020-01-01/2021-01-01' },
        { type: 'dropBeforeByPeriod', period: 'P2M' },
        { type: 'loadByPeriod', period: 'P1M', tieredReplicants: { t0: 1 } },
      ],
    })
    const { rules, next, summary } = explain(cluster, row)
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
        text: 'Another rule applies from then on: rule [1] (dropBeforeByPeriod P2M)',
      },
    ])
    assert.equal(summary, 'The segment has all its replicas: [t0] has 1 of 1 replica')
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
        const explained = explain({ ...cluster, table, rules, servers: [] }, table.rowOf(one.id))
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

describe('a forecast of the next run', () => {
  it('continues if segments become unused between its slices', () => {
    const { cluster, row } = clusterOf([{ required: 1, servers: ['free'] }])
    const ids = Array.from({ length: 5000 }, (_, partitionNum) => {
      const other = { ...key, version: 'v0', interval: { start: 0, end: day }, partitionNum }
      const id = segmentId(other)
      cluster.table.put({ ...segment, ...other, ...other.interval, id })
      return id
    })
    cluster.table.settleTimeline()
    const run = forecastRun(cluster)
    assert.equal(run.next().done, false)
    for (const id of ids) cluster.table.remove(id)
    assert.equal(finish(run).of(row).loads.length, 1)
  })
})
