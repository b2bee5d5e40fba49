import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ClusterWork, explainCluster, type ServerWork } from './index.ts'

function work(name: string, tier: string, more: Partial<ServerWork & ServerWork['server']> = {}): ServerWork {
  const { queuedDrops = 0, rate, failedLoads = 0, lastError, ...server } = more
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
    queuedDrops,
    rate,
    failedLoads,
    lastError,
  }
}
const quiet: ClusterWork = {
  servers: [],
  isPaused: false,
  known: true,
  settled: true,
  reasons: [],
  shortages: [],
}

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
      settled: false,
      reasons: ['Load queues have [4] loads and [2] drops'],
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
    'failures',
    {
      settled: false,
      servers: [work('h1', 'hot', { failedLoads: 1, lastError: 'disk full' })],
      shortages: ['Tier [hot] has no space for 1 replica'],
    },
    'working',
    [
      'Server [h1] failed to load 1 segment and will retry: disk full',
      'Tier [hot] has no space for 1 replica',
    ],
  ],
  [
    'many failing servers',
    {
      servers: Array.from({ length: 7 }, (_, index) => work(`h${index}`, 'hot', { failedLoads: 2 })),
    },
    'short',
    [
      'Nothing is being loaded or dropped, and replicas are missing',
      ...[0, 1, 2, 3, 4].map((index) => `Server [h${index}] failed to load 2 segments and will retry`),
      '2 more servers failed to load segments',
    ],
  ],
  [
    'a pause',
    { isPaused: true, settled: false, reasons: ['Coordination is paused'] },
    'paused',
    ['Coordination is paused: [pauseCoordination] is [true], so nothing new is loaded or dropped'],
  ],
  [
    'an unknown cluster',
    { known: false, settled: false, reasons: ['The leader is waiting for reports from [1] servers: [h1]'] },
    'unknown',
    ['The leader is waiting for reports from [1] servers: [h1]'],
  ],
]
for (const [name, given, state, sentences] of cases) {
  test(`the explanation of a cluster names ${name}`, () => {
    assert.deepEqual(explainCluster({ ...quiet, ...given }), { state, sentences })
  })
}
