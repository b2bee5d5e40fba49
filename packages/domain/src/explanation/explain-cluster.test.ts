import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ClusterWork,
  explainCluster,
  explainServerWork,
  explainTierWork,
  type ServerFacts,
  type ServerWork,
  type TierWork,
} from './index.ts'

type GivenWork = Omit<ServerWork, 'failedLoads' | 'queue'> &
  ServerWork['server'] & {
    readonly queuedDrops: number
    readonly failedLoads: number
    readonly retryableLoads: number
    readonly lastError: string
  }

function work(name: string, tier: string, more: Partial<GivenWork> = {}): ServerWork {
  const { queuedDrops = 0, rate, failedLoads = 0, retryableLoads, lastError, ...server } = more
  return {
    server: {
      number: 0,
      name,
      type: 'historical',
      tier,
      maxSizeBytes: 1e9,
      usedSizeBytes: 0,
      loadingSizeBytes: 0,
      queuedLoads: 0,
      decommissioning: false,
      ...server,
    },
    queue: {
      loads: server.queuedLoads ?? 0,
      loadSizeBytes: server.loadingSizeBytes ?? 0,
      drops: queuedDrops,
    },
    rate,
    failedLoads: { count: failedLoads, retryable: retryableLoads ?? failedLoads, lastError },
  }
}
const quiet: ClusterWork = {
  servers: [],
  isPaused: false,
  known: true,
  unavailable: [],
  seesCluster: true,
  reasons: [],
  shortages: [],
  scheduled: [],
  hasUsedSegments: true,
  nextRun: undefined,
}
const nextRunWith = (totals: object) => ({
  inMs: 3000,
  totals: { loads: 0, drops: 0, markedUnused: 0, unplaced: 0, ...totals },
})
const changed = ['Changed since the last duty run: servers']

const cases: [name: string, given: Partial<ClusterWork>, state: string, sentences: string[]][] = [
  [
    'a settled cluster',
    { servers: [work('h1', 'hot')] },
    'settled',
    ['Every segment has the replicas that the rules require; there is nothing to load or drop'],
  ],
  [
    'loads, with the time of the longest queue, and drops',
    {
      nextRun: nextRunWith({ loads: 1 }),
      reasons: ['Load queues have 4 loads and 2 drops'],
      servers: [
        work('h1', 'hot', {
          queuedLoads: 3,
          loadingSizeBytes: 3e6,
          rate: { msPerSegment: 10_000, msPerByte: 0.01 },
        }),
        work('h2', 'hot', { queuedLoads: 1, loadingSizeBytes: 1e6 }),
        work('c1', 'cold', { queuedDrops: 2 }),
      ],
    },
    'working',
    ['Tier [hot] is loading 4 segments (4.0 MB), about 1 min left', 'Tier [cold] is dropping 2 segments'],
  ],
  [
    'no segments',
    { hasUsedSegments: false },
    'settled',
    ['The cluster has no used segments; there is nothing to load or drop'],
  ],
  [
    'changes that require nothing',
    { reasons: changed, nextRun: nextRunWith({}) },
    'working',
    [
      'Every segment has the replicas that the rules require, and nothing is being loaded or dropped',
      ...changed,
      'The next duty run starts in 3 s',
    ],
  ],
  [
    'changes that require loads, drops, and marks',
    { reasons: changed, nextRun: nextRunWith({ loads: 2, drops: 1, markedUnused: 3 }) },
    'working',
    [...changed, 'The next duty run, in 3 s, requests 2 loads and 1 drop and marks 3 segments as unused'],
  ],
  [
    'changes that require replicas that no server can load',
    {
      reasons: changed,
      nextRun: nextRunWith({ unplaced: 1 }),
      shortages: ['Tier [hot] has no space for 1 replica'],
    },
    'working',
    [...changed, 'The next duty run starts in 3 s', 'Tier [hot] has no space for 1 replica'],
  ],
  [
    'failures',
    {
      nextRun: nextRunWith({ unplaced: 1 }),
      servers: [work('h1', 'hot', { failedLoads: 1, lastError: 'disk full' })],
      shortages: ['Tier [hot] has no space for 1 replica'],
    },
    'working',
    [
      'Server [h1] failed to load 1 segment (disk full) and may retry',
      'The next duty run starts in 3 s',
      'Tier [hot] has no space for 1 replica',
    ],
  ],
  [
    'decommissioning servers',
    { servers: [work('h1', 'hot', { decommissioning: true, usedSizeBytes: 5e6 })] },
    'settled',
    [
      'Every segment has the replicas that the rules require; there is nothing to load or drop',
      'Server [h1] is decommissioning; 5.0 MB of segments are left on it',
    ],
  ],
  [
    'what it does later',
    { scheduled: ['2 segments will be marked as unused at noon'] },
    'settled',
    [
      'Every segment has the replicas that the rules require; there is nothing to load or drop',
      '2 segments will be marked as unused at noon',
    ],
  ],
  [
    'servers that cannot serve',
    {
      unavailable: [
        { role: 'broker', server: 'b:1', state: 'missing', problem: 'No heartbeat for 45 s' },
        ...Array.from({ length: 6 }, (_, index) => ({
          role: 'historical',
          server: `h${index}:1`,
          state: 'notReady' as const,
          problem: 'The certificate has expired',
        })),
      ],
    },
    'settled',
    [
      'Every segment has the replicas that the rules require; there is nothing to load or drop',
      'The broker [b:1] is missing: No heartbeat for 45 s',
      ...[0, 1, 2, 3].map(
        (index) => `The historical [h${index}:1] is not ready: The certificate has expired`,
      ),
      '2 more servers cannot serve',
    ],
  ],
  [
    'many failing servers',
    {
      servers: Array.from({ length: 7 }, (_, index) => work(`h${index}`, 'hot', { failedLoads: 2 })),
    },
    'short',
    [
      'Replicas are missing, but nothing is being loaded or dropped',
      ...[0, 1, 2, 3, 4].map((index) => `Server [h${index}] failed to load 2 segments and may retry`),
      '2 more servers failed to load segments',
    ],
  ],
  [
    'a pause',
    { isPaused: true, reasons: ['Coordination is paused'] },
    'paused',
    ['Coordination is paused: [pauseCoordination] is [true], so no new loads or drops are requested'],
  ],
  [
    'an unknown cluster',
    { known: false, reasons: ['The leader is waiting for reports from 1 server: [h1]'] },
    'unknown',
    ['The leader is waiting for reports from 1 server: [h1]'],
  ],
]
for (const [name, given, state, sentences] of cases) {
  test(`the explanation of a cluster names ${name}`, () => {
    assert.deepEqual(explainCluster({ ...quiet, ...given }), { state, sentences })
  })
}

const facts = (one: ServerWork, more: Partial<ServerFacts> = {}): ServerFacts => ({
  ...one,
  servedSegments: 3,
  isPaused: false,
  seesCluster: true,
  lastReportAgeMs: 2000,
  oldestLoadAgeMs: undefined,
  cloneOf: undefined,
  maxLoadsPerServer: 5,
  minWaitingBytes: undefined,
  ...more,
})
const first =
  'Server [h] is a historical in tier [hot] and serves 3 segments: 0 B of 1.0 GB used. Its last report arrived 2 s ago'
const idle = 'It is neither loading nor dropping segments'
const paused = 'Coordination is paused: [pauseCoordination] is [true], so no new loads or drops are requested'
const serverCases: [name: string, facts: ServerFacts, sentences: string[]][] = [
  ['idle', facts(work('h', 'hot')), [first, idle]],
  [
    'loading',
    facts(
      work('h', 'hot', {
        queuedLoads: 5,
        loadingSizeBytes: 5e6,
        queuedDrops: 1,
        rate: { msPerSegment: 2000, msPerByte: 0 },
      }),
      { oldestLoadAgeMs: 90_000 },
    ),
    [
      first,
      'It is loading 5 segments (5.0 MB), about 10 s left. The oldest load was requested 1 min 30 s ago',
      'It is dropping 1 segment',
      'No more segments are assigned to it until its queue is shorter than [5]',
    ],
  ],
  [
    'failing',
    facts(work('h', 'hot', { failedLoads: 1, lastError: 'disk full' })),
    [first, idle, 'Server [h] failed to load 1 segment (disk full) and may retry'],
  ],
  [
    'failing some loads that it cannot retry',
    facts(work('h', 'hot', { failedLoads: 3, retryableLoads: 1 })),
    [first, idle, 'Server [h] failed to load 3 segments and may retry 1 of them'],
  ],
  [
    'decommissioning',
    facts(work('h', 'hot', { decommissioning: true, failedLoads: 2, retryableLoads: 0 })),
    [
      first,
      idle,
      'Server [h] failed to load 2 segments',
      'It is decommissioning: no segments are assigned to it, and it drops each segment once other servers have it',
    ],
  ],
  [
    'a clone',
    facts(work('h', 'hot'), { cloneOf: { source: 'h2', isAvailable: true } }),
    [first, 'It is a clone of [h2] and loads only the segments of its source', idle],
  ],
  [
    'a clone without its source',
    facts(work('h', 'hot'), { cloneOf: { source: 'h2', isAvailable: false } }),
    [first, 'It is a clone of [h2], which is unavailable, so it neither loads nor drops segments'],
  ],
  [
    'full',
    facts(work('h', 'hot', { usedSizeBytes: 1e9 })),
    [first.replace('0 B of', '1.0 GB of'), idle, 'It is full, so no more segments are assigned to it'],
  ],
  [
    'too full for the segments that are waiting',
    facts(work('h', 'hot', { usedSizeBytes: 9e8, loadingSizeBytes: 5e7 }), { minWaitingBytes: 6e7 }),
    [
      first.replace('0 B of', '900.0 MB of'),
      idle,
      'It is full: 50.0 MB is free, and the smallest segment that is waiting for space in its tier needs 60.0 MB',
    ],
  ],
  [
    'not too full for the segments that are waiting',
    facts(work('h', 'hot', { usedSizeBytes: 9e8 }), { minWaitingBytes: 6e7 }),
    [first.replace('0 B of', '900.0 MB of'), idle],
  ],
  ['idle because of a pause', facts(work('h', 'hot'), { isPaused: true }), [first, idle, paused]],
]
for (const [name, given, sentences] of serverCases)
  test(`the explanation of a server that is ${name}`, () => {
    assert.deepEqual(explainServerWork(given), sentences)
  })

test('the explanation of a tier names its servers, queues, and shortages', () => {
  const members = [
    work('h1', 'hot', { queuedLoads: 1, loadingSizeBytes: 1000 }),
    work('h2', 'hot', { decommissioning: true }),
  ]
  const shortages = ['Tier [hot] has no space']
  const explain = (tier: string, known: Partial<TierWork>) =>
    explainTierWork(tier, {
      members: [],
      clones: [],
      shortages: [],
      unreported: [],
      unannounced: [],
      isPaused: false,
      seesCluster: true,
      ...known,
    })
  assert.deepEqual(explain('hot', { members, shortages }), [
    'Tier [hot] has 2 servers, 1 of them decommissioning: 0 B of 2.0 GB used',
    'Server [h2] is decommissioning; 0 B of segments are left on it',
    'Tier [hot] is loading 1 segment (1.0 kB)',
    'Tier [hot] has no space',
  ])
  assert.deepEqual(explain('warm', {}), ['Tier [warm] has no servers'])
  assert.deepEqual(explain('warm', { isPaused: true }), ['Tier [warm] has no servers', paused])
  assert.deepEqual(explain('warm', { unreported: [{ name: 'w1', tier: 'warm', isLost: true }] }), [
    'Tier [warm] has no servers',
    '1 server of tier [warm] stopped reporting, for example [w1]',
  ])
  assert.deepEqual(explain('cold', { members: [work('c1', 'cold')], unannounced: ['c9'] }), [
    'Tier [cold] has 1 server: 0 B of 1.0 GB used',
    'The leader is waiting for reports from 1 server in [svc.coordinator.expectedServers] whose tier it does not know, for example [c9]',
    'Its servers are neither loading nor dropping segments',
  ])
  const clones = [
    { ...work('c2', 'cold', { queuedLoads: 1, loadingSizeBytes: 10, failedLoads: 1 }), source: 'c1' },
  ]
  assert.deepEqual(explain('cold', { clones }), [
    'Tier [cold] has no servers that are not clones',
    'Server [c2] is a clone of [c1]; its copies do not count as replicas',
    'Tier [cold] is loading 1 segment (10 B)',
    'Server [c2] failed to load 1 segment and may retry',
  ])
})

test('explanations for callers who may not read all datasources show no work on the others', () => {
  const full = work('h', 'hot', { queuedLoads: 5, loadingSizeBytes: 5e6 })
  const hidden = { ...full, queue: { loads: 0, loadSizeBytes: 0, drops: 0 } }
  const some = { ...full, queue: { loads: 2, loadSizeBytes: 3e6, drops: 1 } }
  const serverOf = (one: ServerWork) => explainServerWork(facts(one, { seesCluster: false }))
  const isFull = 'Its load queue is full, so no more segments are assigned to it for now'
  assert.deepEqual(serverOf(hidden), [first, `${idle} that you may read`, isFull])
  assert.deepEqual(serverOf(some), [
    first,
    'It is loading 2 segments (3.0 MB)',
    'It is dropping 1 segment',
    isFull,
  ])
  const tierOf = (members: readonly ServerWork[]) =>
    explainTierWork('hot', {
      ...{ members, clones: [], shortages: [], unreported: [], unannounced: [] },
      isPaused: false,
      seesCluster: false,
    }).slice(1)
  assert.deepEqual(tierOf([hidden]), [
    'Its servers are neither loading nor dropping segments that you may read',
  ])
  assert.deepEqual(tierOf([hidden, some]), [
    'Tier [hot] is loading 2 segments (3.0 MB)',
    'Tier [hot] is dropping 1 segment',
  ])
  const clusterOf = (given: Partial<ClusterWork>) =>
    explainCluster({ ...quiet, seesCluster: false, ...given }).sentences
  assert.deepEqual(clusterOf({}), [
    'Every segment that you may read has the replicas that the rules require; there is nothing to load or drop',
  ])
  assert.deepEqual(clusterOf({ hasUsedSegments: false }), [
    'The cluster has no used segments that you may read; there is nothing to load or drop',
  ])
})
