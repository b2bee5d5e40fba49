import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { copyFlag } from '../inventory/index.ts'
import type { WantedCopies } from '../rules/index.ts'
import {
  createPlanner,
  isEmptyPlan,
  loadingServers,
  type NamedPlan,
  queuePlan,
  type SimulatedServer,
  simulatedServer,
  tableOf,
  workOff,
} from '../testing/index.ts'
import { PlacementPlanner, type PlanLimits } from './index.ts'

const unlimited: PlanLimits = { maxLoadsPerServer: Infinity, replicationThrottleLimit: Infinity }
const load = (tiers: Record<string, number>): WantedCopies => ({
  action: 'load',
  tieredReplicants: new Map(Object.entries(tiers)),
})
const broadcast: WantedCopies = { action: 'broadcast' }
const drop: WantedCopies = { action: 'drop' }
const holding = (name: string, tier: string, given: Partial<SimulatedServer> = {}): SimulatedServer =>
  simulatedServer({ name, tier, served: new Set(['s']), ...given })

/** Returns the plan for the one-byte segment `s` as `load server`, `drop server`, and `cancel server`. */
function planned(servers: readonly SimulatedServer[], wanted: WantedCopies, limits = unlimited): string[] {
  const planner = createPlanner(servers, limits)
  planner.planSegment({ id: 's', sizeBytes: 1 }, wanted)
  const { loads, drops, cancelledLoads } = planner.result()
  return [
    ...loads.map(({ server }) => `load ${server}`),
    ...drops.map(({ server }) => `drop ${server}`),
    ...cancelledLoads.map(({ server }) => `cancel ${server}`),
  ].sort()
}

const cases: readonly { name: string; servers: SimulatedServer[]; wanted: WantedCopies; plan: string[] }[] = [
  {
    name: 'loads replicas on the least full servers of a tier',
    servers: [
      simulatedServer({ name: 'a', maxSizeBytes: 100, usedSizeBytes: 30 }),
      simulatedServer({ name: 'b', maxSizeBytes: 1000, usedSizeBytes: 200 }),
      simulatedServer({ name: 'c', maxSizeBytes: 100, usedSizeBytes: 10, loadingSizeBytes: 15 }),
    ],
    wanted: load({ _default_tier: 2 }),
    plan: ['load b', 'load c'],
  },
  {
    name: 'loads no more replicas than there are servers',
    servers: [simulatedServer({ name: 'a' })],
    wanted: load({ _default_tier: 3 }),
    plan: ['load a'],
  },
  {
    name: 'skips servers without enough room',
    servers: [
      simulatedServer({ name: 'a', maxSizeBytes: 10, usedSizeBytes: 8, loadingSizeBytes: 2 }),
      simulatedServer({ name: 'b', maxSizeBytes: 0 }),
    ],
    wanted: load({ _default_tier: 1 }),
    plan: [],
  },
  {
    name: 'does not count brokers as servers of a tier',
    servers: [simulatedServer({ name: 'a', type: 'broker' })],
    wanted: load({ _default_tier: 1 }),
    plan: [],
  },
  {
    name: 'does not assign a load in progress again',
    servers: [simulatedServer({ name: 'a', loading: new Set(['s']) }), simulatedServer({ name: 'b' })],
    wanted: load({ _default_tier: 1 }),
    plan: [],
  },
  {
    name: 'counts a load that is done but still queued as one replica',
    servers: [holding('a', '_default_tier', { loading: new Set(['s']) }), simulatedServer({ name: 'b' })],
    wanted: load({ _default_tier: 2 }),
    plan: ['load b'],
  },
  {
    name: 'neither counts nor reloads a replica that is being dropped',
    servers: [holding('a', '_default_tier', { dropping: new Set(['s']) })],
    wanted: load({ _default_tier: 1 }),
    plan: [],
  },
  {
    name: 'keeps replicas of a tier that is no longer named while the new tier loads',
    servers: [holding('a', 'hot'), simulatedServer({ name: 'b', tier: 'cold', loading: new Set(['s']) })],
    wanted: load({ cold: 1 }),
    plan: [],
  },
  {
    name: 'drops replicas of a tier that is no longer named once the new tier serves',
    servers: [holding('a', 'hot'), holding('b', 'cold')],
    wanted: load({ cold: 1 }),
    plan: ['drop a'],
  },
  {
    name: 'drops only as many replicas of a tier that is no longer named as the new tier serves',
    servers: [
      ...[holding('a', 'hot'), holding('b', 'hot'), holding('c', 'cold')],
      simulatedServer({ name: 'd', tier: 'cold', maxSizeBytes: 0 }),
    ],
    wanted: load({ cold: 2 }),
    plan: ['drop b'],
  },
  {
    name: 'drops in the same tier as Druid if several are no longer named, whatever the order of the servers is',
    servers: [
      ...[holding('a', 'hot'), holding('b', 'cold'), holding('c', 'warm')],
      simulatedServer({ name: 'd', tier: '_default_tier', maxSizeBytes: 0 }),
    ],
    wanted: load({ warm: 1, _default_tier: 1 }),
    plan: ['drop b'],
  },
  {
    name: 'drops the replica on a decommissioning server first in a tier that is no longer named',
    servers: [
      ...[holding('a', 'hot', { decommissioning: true }), holding('b', 'hot'), holding('c', 'cold')],
      simulatedServer({ name: 'd', tier: 'cold', maxSizeBytes: 0 }),
    ],
    wanted: load({ cold: 2 }),
    plan: ['drop a'],
  },
  {
    name: 'ignores a tier without servers',
    servers: [holding('a', 'hot')],
    wanted: load({ nosuchtier: 1 }),
    plan: ['drop a'],
  },
  {
    name: 'loads in another tier despite a tier without servers',
    servers: [holding('a', 'hot'), holding('b', 'cold')],
    wanted: load({ cold: 1, nosuchtier: 1 }),
    plan: ['drop a'],
  },
  {
    name: 'drops surplus replicas from the fullest server',
    servers: [
      holding('a', '_default_tier', { maxSizeBytes: 10, usedSizeBytes: 1 }),
      holding('b', '_default_tier', { maxSizeBytes: 10, usedSizeBytes: 9 }),
    ],
    wanted: load({ _default_tier: 1 }),
    plan: ['drop b'],
  },
  {
    name: 'keeps surplus replicas of a tier while another tier lacks as many',
    servers: [
      holding('a', 'hot'),
      holding('b', 'hot'),
      simulatedServer({ name: 'c', tier: 'cold', maxSizeBytes: 0 }),
    ],
    wanted: load({ hot: 1, cold: 1 }),
    plan: [],
  },
  {
    name: 'limits drops across tiers with surplus while another tier lacks replicas',
    servers: [
      ...[holding('a', 'hot'), holding('b', 'hot'), holding('c', 'warm'), holding('d', 'warm')],
      simulatedServer({ name: 'e', tier: 'cold', maxSizeBytes: 0 }),
    ],
    wanted: load({ hot: 1, warm: 1, cold: 1 }),
    plan: ['drop d'],
  },
  {
    name: 'drops everything except replicas on brokers for a load rule without tiers',
    servers: [
      holding('a', 'hot'),
      simulatedServer({ name: 'b', loading: new Set(['s']) }),
      holding('c', '', { type: 'broker' }),
    ],
    wanted: load({}),
    plan: ['cancel b', 'drop a'],
  },
  {
    name: 'broadcasts to every historical and every broker that can hold segments',
    servers: [
      simulatedServer({ name: 'a' }),
      simulatedServer({ name: 'b', tier: 'hot' }),
      holding('c', 'hot'),
      simulatedServer({ name: 'd', type: 'broker' }),
      simulatedServer({ name: 'e', type: 'broker', maxSizeBytes: 0 }),
    ],
    wanted: broadcast,
    plan: ['load a', 'load b', 'load d'],
  },
  {
    name: 'keeps a broadcast segment on a decommissioning server until another serves it',
    servers: [holding('a', 'hot', { decommissioning: true }), simulatedServer({ name: 'b' })],
    wanted: broadcast,
    plan: ['load b'],
  },
  {
    name: 'drops a broadcast segment from a decommissioning server once another serves it',
    servers: [holding('a', 'hot', { decommissioning: true }), holding('b', 'cold')],
    wanted: broadcast,
    plan: ['drop a'],
  },
  {
    name: 'keeps the replica on a broker when a load rule replaces a broadcast rule',
    servers: [
      holding('a', '_default_tier'),
      holding('b', '_default_tier'),
      holding('c', '', { type: 'broker' }),
    ],
    wanted: load({ _default_tier: 1 }),
    plan: ['drop b'],
  },
  {
    name: 'drops from brokers and decommissioning servers, and cancels loads in progress',
    servers: [
      holding('a', 'hot'),
      holding('b', '', { type: 'broker' }),
      simulatedServer({ name: 'c', loading: new Set(['s']) }),
      holding('d', 'hot', { decommissioning: true }),
      holding('e', 'hot', { dropping: new Set(['s']) }),
    ],
    wanted: drop,
    plan: ['cancel c', 'drop a', 'drop b', 'drop d'],
  },
  {
    name: 'keeps the replica on a decommissioning server while another server loads',
    servers: [holding('a', '_default_tier', { decommissioning: true }), simulatedServer({ name: 'b' })],
    wanted: load({ _default_tier: 1 }),
    plan: ['load b'],
  },
  {
    name: 'drops the replica from a decommissioning server once others serve enough',
    servers: [holding('a', '_default_tier', { decommissioning: true }), holding('b', '_default_tier')],
    wanted: load({ _default_tier: 1 }),
    plan: ['drop a'],
  },
  {
    name: 'keeps replicas of a tier in which all servers are decommissioning',
    servers: [holding('a', '_default_tier', { decommissioning: true })],
    wanted: load({ _default_tier: 2 }),
    plan: [],
  },
]

for (const { name, servers, wanted, plan } of cases) {
  test(name, () => assert.deepEqual(planned(servers, wanted), plan))
}

test('distributes segments evenly over equal servers of a tier', () => {
  const servers = ['a', 'b', 'c'].map((name) => simulatedServer({ name, maxSizeBytes: 1000 }))
  const planner = createPlanner(servers, unlimited)
  for (let id = 0; id < 30; id += 1)
    planner.planSegment({ id: `${id}`, sizeBytes: 1 }, load({ _default_tier: 1 }))
  const { loads } = planner.result()
  for (const { name } of servers) assert.equal(loads.filter(({ server }) => server === name).length, 10)
})

test('finds the least full server after a broadcast in between', () => {
  const servers = [
    simulatedServer({ name: 'a', maxSizeBytes: 100 }),
    simulatedServer({ name: 'b', maxSizeBytes: 1000, usedSizeBytes: 20 }),
  ]
  const planner = createPlanner(servers, unlimited)
  planner.planSegment({ id: '1', sizeBytes: 1 }, load({ _default_tier: 1 }))
  planner.planSegment({ id: '2', sizeBytes: 10 }, broadcast)
  planner.planSegment({ id: '3', sizeBytes: 1 }, load({ _default_tier: 1 }))
  const { loads } = planner.result()
  assert.deepEqual(
    loads.filter(({ segmentId }) => segmentId !== '2').map(({ server }) => server),
    ['a', 'b'],
  )
})

test('counts unassigned replicas by reason', () => {
  const servers = [
    simulatedServer({ name: 'a', tier: 'hot', loading: new Set(['x', 'y']) }),
    simulatedServer({ name: 'b', tier: 'cold', maxSizeBytes: 5 }),
    simulatedServer({ name: 'c', tier: 'warm' }),
    simulatedServer({ name: 'd', tier: 'warm' }),
  ]
  const planner = createPlanner(servers, { maxLoadsPerServer: 2, replicationThrottleLimit: 1 })
  for (const id of ['1', '2']) planner.planSegment({ id, sizeBytes: 9 }, load({ hot: 1, cold: 1, warm: 2 }))
  const plan = planner.result()
  assert.equal(plan.loads.length, 3)
  assert.deepEqual(plan.unplaced, [
    { tier: 'cold', reason: 'noRoom', copies: 2, exampleSegmentId: '1' },
    { tier: 'hot', reason: 'queueFull', copies: 2, exampleSegmentId: '1' },
    { tier: 'warm', reason: 'replicationThrottled', copies: 1, exampleSegmentId: '2' },
  ])
})

test('distinguishes missing room from failed loads and drops in progress', () => {
  const segment = { id: 's', sizeBytes: 9 }
  const reasonsOf = (flags: number, maxSizeBytes: number, wanted: WantedCopies) => {
    const servers = [simulatedServer({ name: 'a', tier: 'hot', maxSizeBytes })]
    const key = { dataSource: 'any', interval: { start: 0, end: 1 }, version: 'v1', partitionNum: 0 }
    const table = tableOf([{ ...segment, ...key, partitions: 1, totalRows: 1 }], servers)
    table.changeCopy(segment.id, 0, flags, 0)
    const planner = new PlacementPlanner(table, loadingServers(servers), unlimited)
    planner.planSegment(table.rowOf(segment.id), planner.prepare(wanted))
    return planner.allUnplaced().map(({ reason }) => reason)
  }
  const { refused, served, dropping } = copyFlag
  assert.deepEqual(reasonsOf(refused, 100, load({ hot: 1 })), ['loadFailed'])
  assert.deepEqual(reasonsOf(refused, 5, load({ hot: 1 })), ['noRoom'])
  assert.deepEqual(reasonsOf(served | dropping, 100, load({ hot: 1 })), ['beingDropped'])
  assert.deepEqual(reasonsOf(refused, 100, broadcast), ['loadFailed'])
})

test('does not throttle the first replica of a segment in a tier', () => {
  const servers = ['a', 'b'].map((name) => simulatedServer({ name }))
  assert.equal(
    planned(servers, load({ _default_tier: 2 }), { ...unlimited, replicationThrottleLimit: 0 }).length,
    1,
  )
})

test('planSegment returns whether a segment must be checked again', () => {
  const servers = [holding('a', 'hot'), simulatedServer({ name: 'b', tier: 'hot' }), holding('c', 'cold')]
  const planner = createPlanner(servers, unlimited)
  const isOpen = (wanted: WantedCopies) => planner.planSegment({ id: 's', sizeBytes: 1 }, wanted)
  assert.equal(isOpen(load({ hot: 2, cold: 1, nosuchtier: 1 })), true)
  assert.equal(isOpen(load({ hot: 1, cold: 1, nosuchtier: 1 })), false)
  assert.equal(isOpen(load({ cold: 1 })), true)
  assert.equal(planner.planSegment({ id: 't', sizeBytes: 1 }, drop), false)
})

// Clusters of up to 8 servers and 6 segments, whose rules change while the servers work at their own pace.

const tierNames = ['hot', 'cold', 'warm']
const segmentIds = ['0', '1', '2', '3', '4', '5']
const sizeOf = (segmentId: string): number => 1 + Number(segmentId)

const servers = fc
  .array(
    fc.record({
      tier: fc.constantFrom(...tierNames),
      type: fc.constantFrom(
        'historical' as const,
        'historical' as const,
        'historical' as const,
        'broker' as const,
      ),
      maxSizeBytes: fc.constantFrom(0, 8, 21, 30, 100),
      decommissioning: fc.constantFrom(false, false, false, true),
      served: fc.subarray(segmentIds),
    }),
    { maxLength: 8 },
  )
  .map((given) =>
    given.map(({ served, maxSizeBytes, ...server }, index) => {
      const held = served.filter(() => maxSizeBytes >= 21)
      const usedSizeBytes = held.reduce((sum, id) => sum + sizeOf(id), 0)
      return simulatedServer({
        ...server,
        name: `n${index}`,
        maxSizeBytes,
        served: new Set(held),
        usedSizeBytes,
      })
    }),
  )

const wantedCopies: fc.Arbitrary<WantedCopies> = fc.oneof(
  {
    arbitrary: fc
      .dictionary(fc.constantFrom(...tierNames, 'nosuchtier'), fc.integer({ min: 1, max: 3 }))
      .map(load),
    weight: 6,
  },
  { arbitrary: fc.constant(broadcast), weight: 1 },
  { arbitrary: fc.constant(drop), weight: 1 },
)
const wantedOfAll = fc.tuple(...segmentIds.map(() => wantedCopies))
const limits: fc.Arbitrary<PlanLimits> = fc.record({
  maxLoadsPerServer: fc.integer({ min: 1, max: 10 }),
  replicationThrottleLimit: fc.integer({ min: 1, max: 10 }),
})

function planAll(
  cluster: readonly SimulatedServer[],
  wanted: readonly WantedCopies[],
  given: PlanLimits,
): NamedPlan {
  const planner = createPlanner(cluster, given)
  for (const [index, id] of segmentIds.entries())
    planner.planSegment({ id, sizeBytes: sizeOf(id) }, wanted[index]!)
  return planner.result()
}

const isServing = (server: SimulatedServer, id: string): boolean =>
  server.served.has(id) && !server.dropping.has(id)

function servedIn(cluster: readonly SimulatedServer[], tier: string, id: string): number {
  return cluster.filter(
    (server) => server.type === 'historical' && server.tier === tier && isServing(server, id),
  ).length
}

function requiredIn(cluster: readonly SimulatedServer[], tier: string, wanted: WantedCopies): number {
  if (wanted.action !== 'load') return 0
  const members = cluster.filter((server) => server.type === 'historical' && server.tier === tier)
  return Math.min(
    wanted.tieredReplicants.get(tier) ?? 0,
    members.filter((server) => !server.decommissioning).length,
  )
}

/** Checks what must be true for every plan, whatever the state of the cluster. */
function checkPlan(cluster: readonly SimulatedServer[], plan: NamedPlan, given: PlanLimits): void {
  const seen = new Set<string>()
  for (const { server: name, segmentId } of plan.loads) {
    const server = cluster.find((one) => one.name === name)!
    assert.ok(!seen.has(`${name} ${segmentId}`), 'each replica is loaded once')
    seen.add(`${name} ${segmentId}`)
    const isThere =
      server.served.has(segmentId) || server.loading.has(segmentId) || server.dropping.has(segmentId)
    assert.ok(!isThere, 'one replica per server')
    assert.ok(!server.decommissioning, 'no loads on decommissioning servers')
  }
  for (const server of cluster) {
    const loads = plan.loads.filter((one) => one.server === server.name)
    const bytes = loads.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    if (loads.length === 0) continue
    const drops = plan.drops.filter((one) => one.server === server.name)
    const freedBytes = drops.reduce((sum, { segmentId }) => sum + sizeOf(segmentId), 0)
    assert.ok(
      server.usedSizeBytes + server.loadingSizeBytes + bytes - freedBytes <= server.maxSizeBytes,
      'never over capacity',
    )
    assert.ok(server.loading.size + loads.length <= given.maxLoadsPerServer, 'never over the queue limit')
  }
  for (const { server, segmentId } of plan.drops) {
    assert.ok(
      isServing(cluster.find((one) => one.name === server)!, segmentId),
      'only served replicas are dropped',
    )
  }
}

/** Queues the plan and checks that it leaves no segment with fewer replicas than before and required. */
function queueSafely(
  cluster: readonly SimulatedServer[],
  wanted: readonly WantedCopies[],
  plan: NamedPlan,
): void {
  const staying = cluster.filter((server) => !server.decommissioning)
  const count = (servers: readonly SimulatedServer[]) =>
    segmentIds.map((id) => tierNames.map((tier) => servedIn(servers, tier, id)))
  const [before, beforeOnStaying] = [count(cluster), count(staying)]
  queuePlan(cluster, plan, sizeOf)
  const after = count(cluster)
  for (const [index, wantedOne] of wanted.entries()) {
    if (wantedOne.action !== 'load') continue
    const required = tierNames.map((tier) => requiredIn(cluster, tier, wantedOne))
    for (const [tier, copies] of after[index]!.entries()) {
      const atLeast = Math.min(before[index]![tier]!, required[tier]!)
      assert.ok(copies >= atLeast, `too few replicas in tier ${tierNames[tier]}`)
    }
    const lacking = required.filter((one, tier) => beforeOnStaying[index]![tier]! < one)
    if (lacking.length === 0) continue
    // If enough other servers hold the segment, replicas on decommissioning servers do not count.
    const counted = required.map((one, tier) => {
      const enoughStay = one > 0 && beforeOnStaying[index]![tier]! >= one
      return (enoughStay ? beforeOnStaying : before)[index]![tier]!
    })
    const sum = (counts: readonly number[]) => counts.reduce((total, one) => total + one, 0)
    assert.ok(
      sum(after[index]!) >= Math.min(sum(counted), sum(required)),
      'moving between tiers loses no replica',
    )
  }
}

/** Plans and finishes all work until there is nothing left to plan. */
function settle(
  cluster: readonly SimulatedServer[],
  wanted: readonly WantedCopies[],
  given: PlanLimits,
): void {
  for (let runs = 0; runs < 100; runs += 1) {
    const plan = planAll(cluster, wanted, given)
    checkPlan(cluster, plan, given)
    queueSafely(cluster, wanted, plan)
    if (isEmptyPlan(plan) && cluster.every(({ loading, dropping }) => loading.size + dropping.size === 0))
      return
    workOff(cluster, sizeOf)
  }
  assert.fail('the cluster does not settle')
}

test('every plan is safe while rules change and servers work at their own pace', () => {
  const steps = fc.array(fc.record({ wanted: wantedOfAll, pace: fc.infiniteStream(fc.boolean()) }), {
    maxLength: 4,
  })
  fc.assert(
    fc.property(servers, limits, steps, (cluster, given, changes) => {
      for (const { wanted, pace } of changes) {
        for (let runs = 0; runs < 3; runs += 1) {
          const plan = planAll(cluster, wanted, given)
          checkPlan(cluster, plan, given)
          queueSafely(cluster, wanted, plan)
          workOff(cluster, sizeOf, () => pace.next().value)
        }
      }
      const last = changes.at(-1)
      if (last !== undefined) settle(cluster, last.wanted, given)
    }),
    { numRuns: 500 },
  )
})

test('satisfies every rule exactly if there is enough room', () => {
  fc.assert(
    fc.property(servers, limits, wantedOfAll, (small, given, wanted) => {
      const cluster = small.map((server) => ({ ...server, maxSizeBytes: 1000, decommissioning: false }))
      const heldByBrokers = new Set(
        cluster
          .filter(({ type }) => type === 'broker')
          .flatMap(({ name, served }) => [...served].map((id) => `${name} ${id}`)),
      )
      settle(cluster, wanted, given)
      for (const [index, id] of segmentIds.entries()) {
        const one = wanted[index]!
        for (const server of cluster.filter(({ type }) => type === 'broker')) {
          const expected =
            one.action === 'load' ? heldByBrokers.has(`${server.name} ${id}`) : one.action === 'broadcast'
          assert.equal(server.served.has(id), expected)
        }
        for (const tier of tierNames) {
          const members = cluster.filter((server) => server.type === 'historical' && server.tier === tier)
          const expected = one.action === 'broadcast' ? members.length : requiredIn(cluster, tier, one)
          assert.equal(servedIn(cluster, tier, id), expected)
        }
      }
    }),
    { numRuns: 500 },
  )
})

describe('space that a run makes', () => {
  /** Plans a segment that moves off a full server because of a rule, and then one that waits for space there. */
  function plannedOnFullServer(rule: WantedCopies): string[] {
    const servers = [
      holding('a', 'hot', { maxSizeBytes: 1, usedSizeBytes: 1 }),
      holding('b', 'cold', { maxSizeBytes: 10, usedSizeBytes: 1 }),
    ]
    const planner = createPlanner(servers, unlimited)
    planner.planSegment({ id: 'first', sizeBytes: 1 }, load({ hot: 1 }))
    planner.planSegment({ id: 's', sizeBytes: 1 }, rule)
    planner.planSegment({ id: 'second', sizeBytes: 1 }, load({ hot: 1 }))
    planner.planSegment({ id: 'third', sizeBytes: 1 }, load({ hot: 1 }))
    return planner.result().loads.map(({ server, segmentId }) => `${segmentId} on ${server}`)
  }

  test('is available to the segments that follow', () => {
    assert.deepEqual(plannedOnFullServer(load({ cold: 1 })), ['second on a'])
  })

  test('is available to later runs if a drop rule makes it', () => {
    assert.deepEqual(plannedOnFullServer({ action: 'drop' }), [])
  })
})

test('notes the size of the smallest segment for which a tier has no space', () => {
  const servers = [simulatedServer({ name: 'a', tier: 'hot', maxSizeBytes: 5 })]
  const key = {
    dataSource: 'any',
    interval: { start: 0, end: 1 },
    version: 'v1',
    partitions: 1,
    totalRows: 1,
  }
  const segments = [9, 7, 8].map((sizeBytes, partitionNum) => ({
    ...{ ...key, partitionNum, sizeBytes },
    id: `${sizeBytes}`,
  }))
  const table = tableOf(segments, servers)
  const planner = new PlacementPlanner(table, loadingServers(servers), unlimited)
  for (const { id } of segments) planner.planSegment(table.rowOf(id), planner.prepare(load({ hot: 1 })))
  assert.deepEqual(
    planner.allUnplaced().map(({ copies, minSizeBytes }) => [copies, minSizeBytes]),
    [[3, 7]],
  )
})
