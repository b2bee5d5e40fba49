import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Segment, segmentId } from '@svc/domain/segment'
import { coordinatorConfigName } from '@svc/shared/coordinator-dynamic-config'
import type { DiscoveredNode } from '@svc/shared/discovery'
import { saveConfig, saveRules, sql } from '@svc/shared/postgres'
import { createTestStores, serverReport, storeSegments, testCaller } from '@svc/shared/testing'
import {
  createSegmentInventory,
  followRules,
  loadCoordinatorConfig,
  ServerInventory,
} from '../inventory/index.ts'
import { type RunResult, type Shortage, trackClusterState } from './index.ts'

const { database } = await createTestStores({ after })
const audit = { author: '', comment: '', identity: '', ip: '' }
const today = Date.UTC(2026, 5, 15)
const dayMs = 86_400_000
const rules = followRules(database)
const servers = new ServerInventory(60_000)
const segments = createSegmentInventory(database, servers.table)
const awaited: { name: string; tier: string | undefined }[] = []
const brokers: DiscoveredNode[] = []
const expected: string[] = []
const tracker = trackClusterState({
  context: {
    clock: { now: () => Date.now() } as never,
    database,
    discovery: { nodes: (role: string) => (role === 'broker' ? brokers : []) } as never,
    settings: { get: () => expected } as never,
  },
  segments,
  servers,
  rules,
  reportedServers: { awaited: () => awaited },
})

before(() => rules.start())
beforeEach(async () => {
  for (const table of [sql`segments`, sql`rules`, sql`dynamic_configs`])
    await database.query(sql`DELETE FROM ${table}`)
  rules.invalidate()
  await segments.refresh()
  servers.reset()
  awaited.length = 0
  brokers.length = 0
  expected.length = 0
  tracker.restart()
})

function segment(daysAgo: number): Segment {
  const interval = { start: today - daysAgo * dayMs, end: today - (daysAgo - 1) * dayMs }
  const key = { dataSource: 'wiki', interval, version: 'v1', partitionNum: 0 }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
}
let reports = 0
const report = (more: object = {}) =>
  servers.take([serverReport('a', { from: reports, to: ++reports, ...more })], 1, performance.now())
const quiet: RunResult = {
  done: { loads: 0, drops: 0, moves: 0, markedUnused: 0 },
  waitingOvershadowed: undefined,
  shortages: [],
}
const run = async (result: Partial<RunResult> = {}) => {
  const [current, config] = await Promise.all([rules.current(), loadCoordinatorConfig(database)])
  await segments.refresh()
  tracker.beginRun({ rules: current, config })({ ...quiet, ...result })
}
const shortageOf = (tier: string, kind: Shortage['kind'], copiesOf = new Map([[0, 3]])): Shortage => ({
  tier,
  kind,
  lacking: [{ copies: 1, segments: copiesOf }],
  describe: (replicas) => `${kind}: ${replicas}`,
})
const stateFor = async (sees = (_: string) => true) =>
  (await tracker.current()).shownTo(testCaller((_action, _type, name) => sees(name)))
const reasons = async () => (await tracker.current()).reasons
const changed = (...what: string[]) => [`Changed since the last duty run: ${what.join(', ')}`]

describe('a cluster is known', () => {
  it('once every expected server has reported, even if it has not announced itself', async () => {
    expected.push('a', 'b')
    awaited.push({ name: 'b', tier: 'hot' })
    report()
    assert.deepEqual(await reasons(), ['The leader is waiting for reports from 1 server: [b]'])
    awaited.length = 0
    assert.deepEqual(await reasons(), ['The leader is waiting for reports from 1 server: [b]'])
    report({ name: 'b', process: 'b', session: 'other', from: 0, to: 1 })
    assert.equal((await tracker.current()).known, true)
  })

  it('once every server has reported', async () => {
    awaited.push({ name: 'a', tier: 'hot' })
    brokers.push({ name: 'broker-1' } as DiscoveredNode)
    assert.deepEqual(await stateFor(), {
      known: false,
      settled: false,
      paused: false,
      reasons: ['The leader is waiting for reports from 2 servers: [a], [broker-1]'],
      shortages: [],
      scheduled: [],
    })
    awaited.length = 0
    report()
    report({ name: 'broker-1', process: 'broker-1', type: 'broker' })
    const { known, settled } = await tracker.current()
    assert.deepEqual([known, settled], [true, false])
  })

  it('only with a historical if there are segments', async () => {
    assert.deepEqual(tracker.unknownReasons(), [])
    await storeSegments(database, [segment(1)])
    assert.deepEqual(await reasons(), ['No historical has reported to the leader'])
    report()
    assert.deepEqual(tracker.unknownReasons(), [])
  })

  it('names only some of many servers', () => {
    for (let index = 0; index < 12; index += 1) awaited.push({ name: `s${index}`, tier: 'hot' })
    const [reason] = tracker.unknownReasons()
    assert.match(
      reason!,
      /^The leader is waiting for reports from 12 servers: \[s0\], .*\[s9\], and \[2\] more$/,
    )
  })
})

describe('a cluster is settled', () => {
  beforeEach(() => {
    report()
  })

  it('after a complete duty run of this leader that changed nothing', async () => {
    assert.deepEqual(await reasons(), ['This leader has not completed a duty run yet'])
    await run({ done: { loads: 2, drops: 1, moves: 0, markedUnused: 3 } })
    assert.deepEqual(await reasons(), [
      'The last duty run requested changes: 2 loads, 1 drop, 3 segments marked as unused',
    ])
    await run({ done: { loads: 0, drops: 0, moves: 1, markedUnused: 0 } })
    assert.deepEqual(await reasons(), ['The last duty run requested changes: 1 move'])
    await run()
    assert.deepEqual(await stateFor(), {
      known: true,
      settled: true,
      paused: false,
      reasons: [],
      shortages: [],
      scheduled: [],
    })
    tracker.restart()
    assert.deepEqual(await reasons(), ['This leader has not completed a duty run yet'])
  })

  it('despite a permanent shortage, which it shows', async () => {
    const shortages = ['Tier [hot] do not load all replicas: 3 replicas']
    await run({ shortages: [shortageOf('hot', 'do not load all replicas')] })
    assert.deepEqual(await stateFor(), {
      known: true,
      settled: true,
      paused: false,
      reasons: [],
      shortages,
      scheduled: [],
    })
  })

  it('with missing and queued replicas only of datasources that the caller may read', async () => {
    const other = { ...segment(1), dataSource: 'other', id: segment(1).id.replace('wiki', 'other') }
    await storeSegments(database, [segment(1), other])
    await segments.refresh()
    const [wiki, hidden] = ['wiki', 'other'].map((name) => servers.table.datasourceNumber(name)) as [
      number,
      number,
    ]
    const copies = new Map([
      [wiki, 2],
      [hidden, 116],
    ])
    await run({
      done: { loads: 7, drops: 0, moves: 0, markedUnused: 0 },
      shortages: [
        shortageOf('hot', 'have too few servers', copies),
        shortageOf('secret', 'have no servers', new Map([[hidden, 4]])),
      ],
    })
    const [all, some] = [await stateFor(), await stateFor((name) => name === 'wiki')]
    assert.deepEqual(all.shortages, [
      'Tier [hot] have too few servers: 118 replicas',
      'Tier [secret] have no servers: 4 replicas',
    ])
    assert.deepEqual(all.reasons, ['The last duty run requested changes: 7 loads'])
    assert.deepEqual(some.shortages, ['Tier [hot] have too few servers: 2 replicas'])
    assert.deepEqual(some.reasons, ['The last duty run requested changes'])
    assert.deepEqual((await stateFor(() => false)).shortages, [])
    await run()
    const load = { action: 'load', sizeBytes: 10, sentAtMs: performance.now() } as const
    servers.note('a', new Map([[other.id, load]]))
    assert.deepEqual((await stateFor()).reasons, ['Load queues contain 1 load and 0 drops'])
    assert.deepEqual((await stateFor((name) => name === 'wiki')).reasons, ['Load queues are not empty'])
  })

  it('without shortages of the last run that its servers contradict', async () => {
    await run({
      shortages: [shortageOf('cold', 'have no servers'), shortageOf('hot', 'have too few servers')],
    })
    const [noServers, tooFew] = [
      'Tier [cold] have no servers: 3 replicas',
      'Tier [hot] have too few servers: 3 replicas',
    ]
    const shown = async () => (await tracker.current()).shortages
    assert.deepEqual(await shown(), [noServers, tooFew])
    report({ name: 'c', process: 'c', session: 'c', from: 0, to: 1, tier: 'cold' })
    assert.deepEqual(await shown(), [tooFew])
    report({ name: 'b', process: 'b', session: 'b', from: 0, to: 1 })
    assert.deepEqual(await shown(), [])
    assert.deepEqual(tracker.lastShortages({ leaving: new Set(), clones: new Map() }), [])
    const decommissioning = { leaving: new Set(['a', 'b']), clones: new Map() }
    await run({ shortages: [shortageOf('hot', 'have only decommissioning servers')] })
    assert.equal(tracker.lastShortages(decommissioning).length, 1)
    assert.deepEqual(await shown(), [])
  })

  it('only with empty load queues', async () => {
    await storeSegments(database, [segment(1)])
    await run()
    const load = { action: 'load', sizeBytes: 10, sentAtMs: performance.now() } as const
    servers.note('a', new Map([[segment(1).id, load]]))
    assert.deepEqual(await reasons(), ['Load queues contain 1 load and 0 drops'])
    report({ segments: null, changes: [{ id: segment(1).id, change: 'loaded' }] })
    assert.deepEqual(await reasons(), changed('served segments'))
    await run()
    assert.deepEqual(await reasons(), [])
  })

  it('while overshadowed segments wait for a later time, which it reports', async () => {
    const untilMs = Date.now() + 600_000
    await run({ waitingOvershadowed: { count: 2, untilMs } })
    const { settled, scheduled } = await tracker.current()
    const text = `2 overshadowed segments will be marked as unused at ${new Date(untilMs).toISOString()}`
    assert.deepEqual([settled, scheduled], [true, [text]])
  })

  it('not if the next run marks overshadowed segments', async () => {
    await run({ waitingOvershadowed: { count: 2, untilMs: Date.now() - 1 } })
    assert.deepEqual(await reasons(), ['2 overshadowed segments will be marked as unused'])
  })

  it('not while coordination is paused', async () => {
    await run()
    await saveConfig(database, coordinatorConfigName, '{"pauseCoordination":true}', 0, audit, today)
    const { paused, reasons: why } = await tracker.current()
    assert.deepEqual(
      [paused, why],
      [true, ['Coordination is paused: [pauseCoordination] is [true]', ...changed('dynamic configuration')]],
    )
  })

  const changes: [name: string, change: () => unknown][] = [
    [
      'rules',
      async () => {
        await saveRules(database, 'wiki', '[{"type":"dropForever"}]', audit, today)
        rules.invalidate()
      },
    ],
    ['segments', () => storeSegments(database, [segment(2)])],
    ['servers', () => report({ name: 'b', process: 'b' })],
    ['served segments', () => report({ segments: [segment(1).id] })],
    [
      'dynamic configuration',
      () => saveConfig(database, coordinatorConfigName, '{"maxSegmentsToMove":1}', 0, audit, today),
    ],
  ]
  for (const [name, change] of changes) {
    it(`not between a change of ${name} and the next run`, async () => {
      await run()
      assert.deepEqual(await reasons(), [])
      await change()
      assert.deepEqual(await reasons(), changed(name))
      await run()
      assert.deepEqual(await reasons(), [])
    })
  }

  it('shows segments that servers failed to load to callers who may read them', async () => {
    await storeSegments(database, [segment(1)])
    const rule = { type: 'loadForever', tieredReplicants: { hot: 1 } }
    await saveRules(database, 'wiki', JSON.stringify([rule]), audit, today)
    rules.invalidate()
    await run()
    servers.note('a', new Map([[segment(1).id, { action: 'load', sizeBytes: 10, sentAtMs: 0 }]]))
    report({ segments: null, failures: [{ action: 'load', id: segment(1).id, problem: 'x' }] })
    assert.deepEqual((await tracker.current()).shortages, [
      'Server [a] failed to load 1 segment and may retry',
    ])
    assert.deepEqual((await stateFor(() => false)).shortages, [])
    await saveConfig(database, coordinatorConfigName, '{"decommissioningNodes":["a"]}', 0, audit, today)
    assert.deepEqual((await tracker.current()).shortages, ['Server [a] failed to load 1 segment'])
    // Another server loaded it, so no rule requires the load any more.
    report({ name: 'b', process: 'b', session: 'other', from: 0, to: 1, segments: [segment(1).id] })
    assert.deepEqual((await tracker.current()).shortages, [])
  })
})
