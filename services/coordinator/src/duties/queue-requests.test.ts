import assert from 'node:assert/strict'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { type Segment, segmentId } from '@svc/domain/segment'
import { sql } from '@svc/shared/postgres'
import {
  createRequestSender,
  openProducerConnection,
  type RequestBatch,
  receiveRequests,
} from '@svc/shared/redis'
import { ReportLog, ServedSegments } from '@svc/shared/segment-serving'
import { createTestStores, startTcpGate, storeSegments, waitUntil } from '@svc/shared/testing'
import { ServerInventory } from '../inventory/index.ts'
import { queueRequests } from './queue-requests.ts'

const stores = await createTestStores({ after })
const { database } = stores
beforeEach(() => database.query(sql`DELETE FROM segments`))

function segment(number: number): Segment {
  const key = {
    dataSource: 'wiki',
    interval: { start: number, end: number + 1 },
    version: 'v1',
    partitionNum: 0,
  }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10 + number, totalRows: 1 }
}
const store = async (count: number) => {
  const segments = Array.from({ length: count }, (_, number) => segment(number))
  await storeSegments(database, segments)
  return segments
}

/** Returns servers that have reported, each with its own session, and a function that makes them report again. */
function reportingServers(...names: string[]) {
  const inventory = new ServerInventory(60_000)
  const logs = names.map((name) => ({ name, log: new ReportLog(new ServedSegments()) }))
  const voids: Record<string, number> = {}
  const report = () => {
    for (const { name, log } of logs) {
      const changes = log.next()
      const one = {
        ...changes,
        name,
        process: `process of ${name}`,
        type: 'historical',
        tier: 'hot',
        priority: 0,
        maxSizeBytes: 1e9,
        usedSizeBytes: 0,
        term: 3,
        voidUntilMs: voids[name] ?? 0,
      } as const
      const answer = inventory.take([one], 3, 0)
      assert.deepEqual(answer.resync, [])
      Object.assign(voids, answer.voidUntilMs)
      log.taken(changes)
    }
  }
  report()
  return { inventory, report }
}

/** Returns servers that have reported, each with its own session. */
const inventoryOf = (...names: string[]): ServerInventory => reportingServers(...names).inventory

async function openSender(scope: TestContext) {
  const gate = await startTcpGate(scope, stores.settings('coordinator').get('svc.queue.redis.port'))
  const settings = stores.settings('coordinator', { 'svc.queue.redis.port': String(gate.port) })
  const redis = openProducerConnection(settings)
  scope.after(() => redis.disconnect())
  await waitUntil('the queue', () => redis.status === 'ready')
  return { gate, sender: createRequestSender(redis, settings.get('svc.queue.prefix')) }
}

/** Returns the list of batches that a server receives. */
async function receive(scope: TestContext, name: string): Promise<RequestBatch[]> {
  const batches: RequestBatch[] = []
  const receiver = await receiveRequests(
    stores.settings('historical'),
    `process of ${name}`,
    1,
    async (batch) => {
      batches.push(batch)
    },
  )
  scope.after(receiver.close)
  return batches
}
const loadOf = (server: string, one: Segment) => ({ server, segmentId: one.id, sizeBytes: one.sizeBytes })

const asLeader = { term: 3, isLeader: () => true }

describe('the loads and drops of a plan', () => {
  it('are neither recorded nor queued after the leader lost leadership', async (scope) => {
    const segments = await store(70)
    const { sender } = await openSender(scope)
    const servers = inventoryOf('a0')
    let isSent = false
    const sendOnce = {
      ...sender,
      send: async (...given: Parameters<typeof sender.send>) => {
        await sender.send(...given)
        isSent = true
      },
    }
    const plan = { loads: segments.map((one) => loadOf('a0', one)), drops: [] }
    const stamp = { term: 3, isLeader: () => !isSent }
    assert.deepEqual(await queueRequests(plan, stamp, database, servers, sendOnce), { loads: 32, drops: 0 })
    assert.equal(servers.get('a0')?.pending.size, 32)
  })

  it('are recorded and queued for their servers with payload, term, and session', async (scope) => {
    const [one, two] = (await store(2)) as [Segment, Segment]
    const { sender } = await openSender(scope)
    const servers = inventoryOf('a1', 'b1')
    const plan = {
      loads: [loadOf('a1', one), loadOf('b1', one)],
      drops: [{ server: 'a1', segmentId: two.id }],
    }
    const queued = await queueRequests(plan, asLeader, database, servers, sender)
    assert.deepEqual(queued, { loads: 2, drops: 1 })
    const batches = await receive(scope, 'a1')
    await waitUntil('the batch', () => batches.length === 1)
    const [batch] = batches
    assert.deepEqual([batch?.term, batch?.session, batch?.server], [3, servers.get('a1')?.session, 'a1'])
    const [drop, load] = batch?.requests ?? []
    assert.deepEqual(drop, { action: 'drop', id: two.id })
    assert.ok(load?.action === 'load')
    assert.deepEqual([load.id, load.sizeBytes], [one.id, one.sizeBytes])
    const { identifier, loadSpec } = JSON.parse(load.payload)
    assert.equal(identifier, one.id)
    assert.deepEqual(loadSpec, { type: 'local', path: 'x', checksum: 'sha256:00' })
    const pending = servers.get('a1')?.pending
    assert.deepEqual(
      [...(pending ?? [])].map(([id, { action, sizeBytes }]) => [id, action, sizeBytes]),
      [
        [two.id, 'drop', 0],
        [one.id, 'load', 10],
      ],
    )
  })

  it('mark batches for turbo servers, which load several segments at a time', async (scope) => {
    const [one] = (await store(1)) as [Segment]
    const { sender } = await openSender(scope)
    const plan = { loads: [loadOf('a3', one), loadOf('b3', one)], drops: [] }
    const stamp = { ...asLeader, turbo: new Set(['b3', 'c3']) }
    await queueRequests(plan, stamp, database, inventoryOf('a3', 'b3'), sender)
    const [slow, fast] = [await receive(scope, 'a3'), await receive(scope, 'b3')]
    await waitUntil('the batches', () => slow.length === 1 && fast.length === 1)
    assert.deepEqual([slow[0]?.turbo, fast[0]?.turbo], [undefined, true])
  })

  it('are queued in batches', async (scope) => {
    const segments = await store(70)
    const { sender } = await openSender(scope)
    const servers = inventoryOf('a2')
    const plan = { loads: segments.map((one) => loadOf('a2', one)), drops: [] }
    assert.deepEqual(await queueRequests(plan, asLeader, database, servers, sender), {
      loads: 70,
      drops: 0,
    })
    const batches = await receive(scope, 'a2')
    await waitUntil('the batches', () => batches.length === 3)
    assert.deepEqual(
      batches.map(({ requests }) => requests.length),
      [32, 32, 6],
    )
    const ids = batches.flatMap(({ requests }) => requests.map(({ id }) => id))
    assert.deepEqual(
      ids,
      segments.map(({ id }) => id),
    )
    assert.equal(servers.get('a2')?.pending.size, 70)
  })

  it('skip servers that are gone and segments that were deleted', async (scope) => {
    const [one] = (await store(1)) as [Segment]
    const { sender } = await openSender(scope)
    const servers = inventoryOf('a3')
    const plan = {
      loads: [loadOf('gone', one), loadOf('a3', segment(99)), loadOf('a3', one)],
      drops: [{ server: 'gone', segmentId: one.id }],
    }
    assert.deepEqual(await queueRequests(plan, asLeader, database, servers, sender), {
      loads: 1,
      drops: 0,
    })
    assert.deepEqual([...(servers.get('a3')?.pending.keys() ?? [])], [one.id])
  })

  it('are empty if there is nothing to do', async (scope) => {
    const { sender, gate } = await openSender(scope)
    await gate.cut()
    assert.deepEqual(
      await queueRequests({ loads: [], drops: [] }, asLeader, database, inventoryOf('a4'), sender),
      {
        loads: 0,
        drops: 0,
      },
    )
  })

  it('fail quickly while Redis is unavailable and can be queued again once their server confirms', async (scope) => {
    const segments = await store(40)
    const { sender, gate } = await openSender(scope)
    const { inventory: servers, report } = reportingServers('a5', 'b5')
    await queueRequests(
      { loads: [loadOf('a5', segments[0] as Segment)], drops: [] },
      asLeader,
      database,
      servers,
      sender,
    )
    await gate.cut()
    const plan = {
      loads: ['a5', 'b5'].flatMap((server) => segments.slice(1).map((one) => loadOf(server, one))),
      drops: [{ server: 'b5', segmentId: 'x' }],
    }
    const startedAt = performance.now()
    await assert.rejects(queueRequests(plan, asLeader, database, servers, sender), { code: 'unavailable' })
    assert.ok(performance.now() - startedAt < 3000)
    assert.equal(servers.get('a5')?.pending.size, 33, 'the first batch may have arrived')
    assert.equal(servers.get('b5')?.pending.size, 32)
    report()
    report()
    assert.equal(servers.get('a5')?.pending.size, 0)
    assert.equal(servers.get('b5')?.pending.size, 0)
    await gate.reconnect()
    const queued = await waitUntil('queueing works again', () =>
      queueRequests(plan, asLeader, database, servers, sender).catch(() => undefined),
    )
    assert.deepEqual(queued, { loads: 78, drops: 1 })
  })
})
