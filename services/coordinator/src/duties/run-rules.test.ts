import assert from 'node:assert/strict'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { type Segment, segmentId } from '@svc/domain/segment'
import { coordinatorConfigName } from '@svc/shared/coordinator-dynamic-config'
import { acquireLease, createDatabase, releaseLease, saveConfig, saveRules, sql } from '@svc/shared/postgres'
import {
  createRequestSender,
  openProducerConnection,
  type RequestBatch,
  receiveRequests,
} from '@svc/shared/redis'
import { ReportLog, ServedSegments } from '@svc/shared/segment-serving'
import {
  createTestStores,
  recordingLogger,
  serverReport,
  startTcpGate,
  storeSegments,
  waitUntil,
} from '@svc/shared/testing'
import { type RunResult, shortageSentences, shortageView } from '../cluster-state/index.ts'
import { createSegmentInventory, followRules, ServerInventory } from '../inventory/index.ts'
import { RequestJournal, runRules } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
const audit = { author: '', comment: '', identity: '', ip: '' }
const day = 86_400_000
const now = Date.UTC(2026, 5, 15)

beforeEach(async () => {
  for (const table of [sql`segments`, sql`rules`, sql`leader_leases`, sql`dynamic_configs`])
    await database.query(sql`DELETE FROM ${table}`)
  await lead()
})

const leader = { role: 'coordinator', holder: 'me', node: 'me', baseUrl: 'http://me' }
const lead = () => acquireLease(database, leader, 600_000)

function segment(daysAgo: number): Segment {
  const interval = { start: now - daysAgo * day, end: now - (daysAgo - 1) * day }
  const key = { dataSource: 'wiki', interval, version: 'v1', partitionNum: 0 }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
}
const store = (...segments: Segment[]) => storeSegments(database, segments)
const used = async () =>
  (await database.query<{ id: string }>(sql`SELECT id FROM segments WHERE used ORDER BY id`)).map(
    ({ id }) => id,
  )
const setRules = (...rules: object[]) => saveRules(database, 'wiki', JSON.stringify(rules), audit, now)
const loadOn = (tier: string) => ({ type: 'loadForever', tieredReplicants: { [tier]: 1 } })
const recentOnly = [
  { type: 'loadByPeriod', period: 'P3D', tieredReplicants: { hot: 1 } },
  { type: 'dropForever' },
]

let servers = 0
// When this server became the leader, in milliseconds of the monotonic clock.
let ledSinceMs = 0
let leadingTerm = 1
let whileWaiting = () => {}

/** Creates the duty with real stores and one server that serves the given segments. */
async function setUp(scope: TestContext, ...served: Segment[]) {
  const settings = stores.settings('coordinator')
  const gate = await startTcpGate(scope, settings.get('svc.metadata.storage.connector.port'))
  const gated = createDatabase(
    stores.settings('coordinator', { 'svc.metadata.storage.connector.port': String(gate.port) }),
    { connections: 3, applicationName: 'coordinator' },
  )
  const redis = openProducerConnection(settings)
  scope.after(async () => {
    redis.disconnect()
    await gated.close()
  })
  await waitUntil('the queue', () => redis.status === 'ready')
  const prefix = settings.get('svc.queue.prefix')
  const name = `server${++servers}`
  const log = new ReportLog(new ServedSegments())
  const inventory = new ServerInventory(60_000)
  const report = (given: object = {}) =>
    serverReport(name, { ...log.next(), segments: served.map(({ id }) => id), ...given })
  inventory.take([report()], 1, performance.now())
  const logger = recordingLogger()
  const waits: string[] = []
  const awaited: { name: string; tier: string }[] = []
  const results: object[] = []
  const requestJournal = new RequestJournal()
  const duty = runRules({
    database: gated,
    clock: { now: () => now },
    logger,
    redis,
    queuePrefix: prefix,
    sender: createRequestSender(redis, prefix),
    segments: createSegmentInventory(gated, inventory.table),
    servers: inventory,
    rules: followRules(gated),
    requestTimeoutMs: 600_000,
    waitsByDefault: false,
    isLeader: (term) => term === leadingTerm,
    leaderSinceMs: () => ledSinceMs,
    clusterState: {
      beginRun: () => (result) =>
        results.push({
          ...result,
          shortages: shortageSentences(result.shortages, shortageView({ has: () => true })),
        }),
    },
    reportedServers: {
      reported: async () => {
        waits.push('waited')
        whileWaiting()
      },
      awaited: () => awaited,
    },
    requestJournal,
  })
  const batches: RequestBatch[] = []
  const receive = async () => {
    const receiver = await receiveRequests(settings, name, 1, async (batch) => {
      batches.push(batch)
    })
    scope.after(receiver.close)
  }
  const requested = () =>
    [...(inventory.get(name)?.pending ?? [])].map(([id, { action }]) => `${action} ${id}`).sort()
  return { duty, inventory, logger, waits, awaited, results, gate, batches, receive, requested, name, report }
}

describe('a run of the rules', () => {
  it('requests nothing if the term has changed since the run began', async (scope) => {
    await store(segment(1))
    await setRules(loadOn('hot'))
    const { duty, requested } = await setUp(scope)
    whileWaiting = () => {
      leadingTerm = 2
    }
    scope.after(() => {
      whileWaiting = () => {}
      leadingTerm = 1
    })
    // No server would answer, because the servers know the later term by then.
    assert.equal(await duty.run(1), undefined)
    assert.deepEqual(requested(), [])
    assert.deepEqual(await duty.run(2), { loads: 1, drops: 0, markedUnused: 0 })
  })

  it('drops no replica that may be the last one while servers of a required tier have not reported', async (scope) => {
    await store(segment(1))
    await setRules(loadOn('icy'))
    const { duty, requested, awaited, logger } = await setUp(scope, segment(1))
    awaited.push({ name: 'slow', tier: 'icy' })
    assert.equal(await duty.run(1), undefined)
    assert.deepEqual(requested(), [])
    assert.equal(logger.having('Rules reference tiers without servers').length, 0)
    awaited.pop()
    assert.deepEqual(await duty.run(1), { loads: 0, drops: 1, markedUnused: 0 })
  })

  it('records what a complete run changed, and what the servers cannot have', async (scope) => {
    await store(segment(1), segment(2))
    await setRules({ type: 'loadForever', tieredReplicants: { hot: 3, icy: 1 } })
    const { duty, results, inventory, report } = await setUp(scope)
    inventory.take([report({ maxSizeBytes: 15 })], 1, performance.now())
    await duty.run(1)
    const shortages = [
      'Tier [hot] has no space for 1 replica',
      'Tier [icy] has no servers for 2 replicas',
      'Tier [hot] has too few servers for 4 replicas: a server loads at most one replica of a segment',
    ]
    const resultWith = (loads: number) => ({
      done: { loads, drops: 0, moves: 0, markedUnused: 0 },
      waitingOvershadowed: undefined,
      shortages,
    })
    assert.deepEqual(results, [resultWith(1)])
    const [loading] = inventory.servers().flatMap(({ pending }) => [...pending].map(([id]) => id))
    const loaded = { segments: [loading], maxSizeBytes: 15, usedSizeBytes: 10 }
    inventory.take([report(loaded)], 1, performance.now())
    await duty.run(1)
    assert.deepEqual(results[1], resultWith(0))
    await saveConfig(database, coordinatorConfigName, '{"pauseCoordination":true}', 0, audit, now)
    await duty.run(1)
    assert.equal(results.length, 2)
  })

  it('requests the replicas that rules require once', async (scope) => {
    await store(segment(1), segment(2))
    await setRules(loadOn('hot'))
    const { duty, requested, waits, batches, receive } = await setUp(scope, segment(2))
    assert.deepEqual(await duty.run(1), { loads: 1, drops: 0, markedUnused: 0 })
    assert.deepEqual(requested(), [`load ${segment(1).id}`])
    assert.deepEqual(waits, ['waited'])
    const startMs = performance.now()
    assert.equal(await duty.run(1), undefined, 'the requests are already pending')
    const sent = { decided: 1, sent: 1, retried: 0, answered: 0, failed: 0 }
    assert.deepEqual(duty.requestsOf?.(0, startMs), sent)
    assert.equal(duty.requestsOf?.(startMs, performance.now()), undefined)
    await receive()
    await waitUntil('the request', () => batches.length === 1)
    assert.equal(batches[0]?.term, 1)
  })

  it('marks segments that match a drop rule as unused and drops their replicas', async (scope) => {
    await store(segment(1), segment(10))
    await setRules(...recentOnly)
    const { duty, requested } = await setUp(scope, segment(1), segment(10))
    assert.deepEqual(await duty.run(1), { loads: 0, drops: 1, markedUnused: 1 })
    assert.deepEqual(await used(), [segment(1).id])
    assert.deepEqual(requested(), [`drop ${segment(10).id}`])
    const [row] = await database.query<{ at: number }>(
      sql`SELECT used_changed_at AS at FROM segments WHERE NOT used`,
    )
    assert.equal(row?.at, now, 'uses the clock of the cluster')
  })

  it('changes and requests nothing under a former leader', async (scope) => {
    await store(segment(1), segment(10))
    await setRules(...recentOnly)
    const { duty, requested } = await setUp(scope, segment(10))
    await releaseLease(database, leader)
    await lead()
    await assert.rejects(duty.run(1), {
      code: 'unavailable',
      message: /no longer the \[coordinator\] leader/,
    })
    assert.equal((await used()).length, 2)
    assert.deepEqual(requested(), [])
  })

  it('picks up new rules and segments in the next run', async (scope) => {
    await store(segment(1))
    await setRules(loadOn('hot'))
    const { duty, requested } = await setUp(scope)
    await duty.run(1)
    await store(segment(2))
    await duty.run(1)
    assert.deepEqual(requested(), [`load ${segment(1).id}`, `load ${segment(2).id}`].sort())
  })

  it('does nothing while coordination is paused', async (scope) => {
    await store(segment(10))
    await setRules({ type: 'dropForever' })
    await saveConfig(database, coordinatorConfigName, '{"pauseCoordination":true}', 0, audit, now)
    const { duty, requested } = await setUp(scope, segment(10))
    assert.equal(await duty.run(1), undefined)
    assert.equal((await used()).length, 1)
    assert.deepEqual(requested(), [])
  })

  it('loads nothing on a decommissioning server', async (scope) => {
    await store(segment(1))
    await setRules(loadOn('hot'))
    const { duty, requested, name, inventory } = await setUp(scope)
    await saveConfig(
      database,
      coordinatorConfigName,
      JSON.stringify({ decommissioningNodes: [name] }),
      0,
      audit,
      now,
    )
    await duty.run(1)
    assert.deepEqual(requested(), [])
    const log = new ReportLog(new ServedSegments())
    const other = { ...log.next(), name: 'other', process: 'other', type: 'historical' as const, tier: 'hot' }
    inventory.take(
      [{ ...other, priority: 0, maxSizeBytes: 1000, usedSizeBytes: 0, voidUntilMs: 0, term: 1 }],
      1,
      performance.now(),
    )
    await duty.run(1)
    assert.deepEqual([...(inventory.get('other')?.pending.keys() ?? [])], [segment(1).id])
  })

  it('respects the max size of load queues', async (scope) => {
    await store(...Array.from({ length: 9 }, (_, index) => segment(index + 1)))
    await setRules(loadOn('hot'))
    await saveConfig(database, coordinatorConfigName, '{"maxSegmentsInNodeLoadingQueue":4}', 0, audit, now)
    const { duty, requested } = await setUp(scope)
    await duty.run(1)
    assert.equal(requested().length, 4)
    await duty.run(1)
    assert.equal(requested().length, 4)
  })

  it('moves segments from a full server to an empty one and drops them after they are loaded', async (scope) => {
    const held = [1, 2, 3, 4].map(segment)
    await store(...held)
    await setRules(loadOn('hot'))
    const { duty, inventory, requested, report } = await setUp(scope, ...held)
    inventory.take([report({ maxSizeBytes: 100, usedSizeBytes: 40 })], 1, performance.now())
    const other = { name: 'emptier', process: 'emptier', session: 'other', maxSizeBytes: 100 }
    inventory.take([report({ ...other, segments: [] })], 1, performance.now())
    assert.deepEqual(await duty.run(1), { loads: 0, drops: 0, markedUnused: 0, moves: 2 })
    const moved = [...(inventory.get('emptier')?.pending.keys() ?? [])]
    assert.equal(moved.length, 2)
    assert.deepEqual(requested(), [], 'drops nothing before it is loaded elsewhere')
    assert.equal(await duty.run(1), undefined)
    inventory.take([report({ ...other, segments: moved, usedSizeBytes: 20 })], 1, performance.now())
    assert.deepEqual(await duty.run(1), { loads: 0, drops: 2, markedUnused: 0 })
    assert.deepEqual(requested(), moved.map((id) => `drop ${id}`).sort())
  })

  it('moves nothing if maxSegmentsToMove is 0', async (scope) => {
    await store(segment(1), segment(2))
    await setRules(loadOn('hot'))
    const config = JSON.stringify({ maxSegmentsToMove: 0 })
    await saveConfig(database, coordinatorConfigName, config, 0, audit, now)
    const { duty, inventory, report } = await setUp(scope, segment(1), segment(2))
    inventory.take([report({ maxSizeBytes: 100, usedSizeBytes: 20 })], 1, performance.now())
    const other = { name: 'idle', process: 'idle', session: 'other', maxSizeBytes: 100, segments: [] }
    inventory.take([report(other)], 1, performance.now())
    assert.equal(await duty.run(1), undefined)
  })

  const configure = (change: object) =>
    saveConfig(database, coordinatorConfigName, JSON.stringify(change), 0, audit, now)

  it('makes a clone match its source server and does not count its replicas for rules', async (scope) => {
    await store(segment(1), segment(2))
    await setRules(loadOn('hot'))
    const { duty, inventory, report, name } = await setUp(scope, segment(1))
    await configure({ cloneServers: { copy: name } })
    const clone = { name: 'copy', process: 'copy', session: 'other' }
    inventory.take([report({ ...clone, segments: [segment(3).id] })], 1, performance.now())
    assert.deepEqual(await duty.run(1), { loads: 3, drops: 1, markedUnused: 0 })
    const queuedOnClone = [...(inventory.get('copy')?.pending ?? [])].map(
      ([id, { action }]) => `${action} ${id}`,
    )
    assert.deepEqual(
      queuedOnClone.sort(),
      [`drop ${segment(3).id}`, `load ${segment(1).id}`, `load ${segment(2).id}`].sort(),
    )
    assert.equal(await duty.run(1), undefined, 'the requests are already pending')
  })

  for (const { replicateAfterLoadTimeout, from } of [
    { replicateAfterLoadTimeout: false, from: 'the same server' },
    { replicateAfterLoadTimeout: true, from: 'another server' },
  ])
    it(`requests a load that timed out from ${from} if replicateAfterLoadTimeout is ${replicateAfterLoadTimeout}`, async (scope) => {
      await store(segment(1))
      await setRules(loadOn('hot'))
      const { duty, inventory, report, name } = await setUp(scope)
      await configure({ replicateAfterLoadTimeout })
      const fuller = { name: 'fuller', process: 'fuller', session: 'other', usedSizeBytes: 500, segments: [] }
      inventory.take([report(fuller)], 1, performance.now())
      const sentAtMs = performance.now() - 600_001
      inventory.note(name, new Map([[segment(1).id, { action: 'load', sizeBytes: 10, sentAtMs }]]))
      assert.equal(await duty.run(1), undefined)
      const { voidUntilMs } = inventory.take([report()], 1, performance.now())
      inventory.take([report({ voidUntilMs: voidUntilMs[name] })], 1, performance.now())
      assert.deepEqual(await duty.run(1), { loads: 1, drops: 0, markedUnused: 0 })
      const busy = inventory.servers().filter(({ pending }) => pending.size > 0)
      assert.deepEqual(
        busy.map((server) => server.name),
        [replicateAfterLoadTimeout ? 'fuller' : name],
      )
    })

  it('marks overshadowed segments as unused after the leader has led for millisToWaitBeforeDeleting', async (scope) => {
    const newer = { ...segment(1), version: 'v2', id: segmentId({ ...segment(1), version: 'v2' }) }
    await store(segment(1), newer)
    await setRules(loadOn('hot'))
    const { duty, results } = await setUp(scope, segment(1), newer)
    scope.after(() => {
      ledSinceMs = 0
    })
    ledSinceMs = performance.now()
    await configure({ millisToWaitBeforeDeleting: 600_000 })
    assert.equal(await duty.run(1), undefined)
    const { waitingOvershadowed } = results[0] as RunResult
    assert.equal(waitingOvershadowed?.count, 1)
    assert.ok(Math.abs(waitingOvershadowed.untilMs - Date.now() - 600_000) < 60_000)
    assert.deepEqual(await used(), [segment(1).id, newer.id])
    ledSinceMs -= 600_000
    assert.deepEqual(await duty.run(1), { loads: 0, drops: 0, markedUnused: 1 })
    assert.deepEqual(await used(), [newer.id])
  })

  it('requests segments again after the queues were lost', async (scope) => {
    await store(segment(1))
    await setRules(loadOn('hot'))
    const { duty, logger, inventory, report, batches, receive } = await setUp(scope)
    await duty.run(1)
    await stores.emptyQueues()
    await duty.run(1)
    const lost = 'Queues were lost; requesting missing segments again'
    assert.deepEqual(
      logger.having(lost).map(({ details }) => details),
      [{ requests: 1 }],
    )
    inventory.take([report({ segments: [], voidUntilMs: performance.now() })], 1, performance.now())
    assert.deepEqual(await duty.run(1), { loads: 1, drops: 0, markedUnused: 0 })
    await receive()
    await waitUntil('the request', () => batches.length === 1)
    await duty.run(1)
    assert.equal(logger.having(lost).length, 1)
  })

  it('warns once about tiers without servers and about insufficient capacity, and again on changes', async (scope) => {
    await store(segment(1), segment(2))
    await setRules({ type: 'loadForever', tieredReplicants: { icy: 2, hot: 1 } })
    const { duty, logger, report, inventory } = await setUp(scope)
    inventory.take([report({ maxSizeBytes: 5 })], 1, performance.now())
    for (let times = 0; times < 3; times++) await duty.run(1)
    const noServer = 'Rules reference tiers without servers'
    const noRoom = 'Not enough capacity in tier'
    assert.deepEqual(
      logger.having(noServer).map(({ details }) => details),
      [{ tiers: { icy: 4 }, tierCount: 1 }],
    )
    assert.equal(logger.having(noRoom).length, 1)
    const [unplaced] = (logger.having(noRoom)[0]?.details.unplaced ?? []) as {
      tier: string
      copies: number
    }[]
    assert.deepEqual([unplaced?.tier, unplaced?.copies], ['hot', 2])
  })

  it('ignores the replicas of a server that missed its heartbeats and logs a warning', async (scope) => {
    await store(segment(1))
    await setRules(loadOn('hot'))
    const { duty, logger, inventory, report, name } = await setUp(scope)
    inventory.take([report()], 1, performance.now() - 61_000)
    await duty.run(1)
    assert.deepEqual(
      logger.having('Server missed its heartbeats; ignoring its replicas').map(({ details }) => details),
      [{ silentServer: name }],
    )
    assert.equal(inventory.servers().length, 0)
  })

  it('fails and requests nothing while the store is unavailable, then recovers', async (scope) => {
    await store(segment(1))
    await setRules(loadOn('hot'))
    const { duty, gate, requested } = await setUp(scope)
    await gate.cut()
    await assert.rejects(duty.run(1), { code: 'unavailable' })
    assert.deepEqual(requested(), [])
    await gate.reconnect()
    assert.deepEqual(await duty.run(1), { loads: 1, drops: 0, markedUnused: 0 })
  })

  it('marks ten thousand segments within eight seconds', async (scope) => {
    await database.query(sql`
      INSERT INTO segments (id, datasource, start_ms, end_ms, version, partition_num, partitions, size_bytes,
        total_rows, used, created_at, used_changed_at, payload)
      SELECT 's' || n, 'wiki', n, n + 1, 'v1', 0, 1, 1, 1, true, now(), now(), '{}'
      FROM generate_series(1, 10000) n`)
    await setRules({ type: 'dropForever' })
    const { duty } = await setUp(scope)
    const startedAt = performance.now()
    assert.deepEqual(await duty.run(1), { loads: 0, drops: 0, markedUnused: 10_000 })
    assert.ok(performance.now() - startedAt < 8000)
    assert.deepEqual(await used(), [])
  })
})
