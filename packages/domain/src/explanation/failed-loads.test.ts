import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRules } from '../rules/index.ts'
import { segmentId } from '../segment/index.ts'
import { loadingServers, type SimulatedServer, simulatedServer, tableOf } from '../testing/index.ts'
import { type FailedLoadState, judgeFailedLoads } from './index.ts'

const key = { dataSource: 'wiki', interval: { start: 0, end: 1 }, version: 'v1', partitionNum: 0 }
const segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes: 100, totalRows: 1 }
const itself = new Set([segment.id])

/** A failed load on the first of some servers in a tier where rules require one replica. */
interface Given {
  readonly servers: readonly Partial<SimulatedServer>[]
  /** What the first server copies: the second one, or a server that is unavailable. */
  readonly cloneOf?: 'second' | 'gone'
  readonly rule?: object
  readonly isPaused?: boolean
}

function stateOf({ servers, cloneOf, rule, isPaused = false }: Given): FailedLoadState {
  const simulated = servers.map((server, index) =>
    simulatedServer({ name: `h${index}`, tier: 'hot', maxSizeBytes: 1000, ...server }),
  )
  const table = tableOf([segment], simulated)
  table.settleTimeline()
  const [first, ...others] = loadingServers(simulated)
  return judgeFailedLoads({
    table,
    rules: new Map([['wiki', parseRules([rule ?? { type: 'loadForever', tieredReplicants: { hot: 1 } }])]]),
    servers: cloneOf === undefined ? [first!, ...others] : others,
    clones:
      cloneOf === undefined
        ? []
        : [{ target: first!, source: cloneOf === 'second' ? others[0]!.number : undefined }],
    now: 0,
    isPaused,
  })(segment.id, 0)
}

const broadcast = { type: 'broadcastForever' }
const cases: [name: string, state: FailedLoadState, given: Given][] = [
  ['on a server that can load it', 'retryable', { servers: [{}, {}] }],
  ['that is in the queue again', 'retryable', { servers: [{ loading: itself, loadingSizeBytes: 1000 }] }],
  ['of a segment that another server serves', 'obsolete', { servers: [{}, { served: itself }] }],
  ['of a segment that another server loads', 'blocked', { servers: [{}, { loading: itself }] }],
  [
    'of a segment that only a decommissioning server serves',
    'retryable',
    {
      servers: [{}, { served: itself, decommissioning: true }],
    },
  ],
  ['on a decommissioning server', 'blocked', { servers: [{ decommissioning: true }] }],
  ['on a full server', 'blocked', { servers: [{ usedSizeBytes: 901 }] }],
  ['on a server in a tier that no rule names', 'obsolete', { servers: [{ tier: 'cold' }] }],
  ['while coordination is paused', 'blocked', { servers: [{}], isPaused: true }],
  ['of a segment that a rule drops', 'obsolete', { servers: [{}], rule: { type: 'dropForever' } }],
  ['of a broadcast segment', 'retryable', { servers: [{}, { served: itself }], rule: broadcast }],
  [
    'of a broadcast segment on a server without storage',
    'blocked',
    {
      servers: [{ maxSizeBytes: 0 }],
      rule: broadcast,
    },
  ],
  [
    'on a clone whose source has the segment',
    'retryable',
    { servers: [{}, { served: itself }], cloneOf: 'second' },
  ],
  [
    'on a clone without space',
    'blocked',
    {
      servers: [{ usedSizeBytes: 901 }, { served: itself }],
      cloneOf: 'second',
    },
  ],
  ['on a clone whose source does not have the segment', 'obsolete', { servers: [{}, {}], cloneOf: 'second' }],
  [
    'on a clone whose source drops the segment',
    'obsolete',
    {
      servers: [{}, { served: itself, dropping: itself }],
      cloneOf: 'second',
    },
  ],
  ['on a clone whose source is unavailable', 'blocked', { servers: [{}], cloneOf: 'gone' }],
]
for (const [name, state, given] of cases)
  test(`a failed load ${name} is ${state}`, () => {
    assert.equal(stateOf(given), state)
  })
