import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it, type TestContext } from 'node:test'
import type { Redis } from 'ioredis'
import { createTestStores, startTcpGate, waitUntil } from '../testing/index.ts'
import {
  createRequestSender,
  createTaskSender,
  openProducerConnection,
  type RequestBatch,
  readQueueEpoch,
  receiveRequests,
  receiveTasks,
} from './index.ts'

const stores = await createTestStores({ after }, { isEmpty: true })
const settings = stores.settings('coordinator')
const redisPort = settings.get('svc.queue.redis.port')
const prefix = settings.get('svc.queue.prefix')

/** A producer connection through a gate. */
async function openProducer(context: TestContext) {
  const gate = await startTcpGate(context, redisPort)
  const gated = stores.settings('coordinator', { 'svc.queue.redis.port': String(gate.port) })
  const redis = openProducerConnection(gated)
  await waitUntil('the connection', () => redis.status === 'ready')
  context.after(() => redis.disconnect())
  return { gate, gated, redis }
}

const payload = (identifier: string) => JSON.stringify({ identifier, dataSource: 'wiki', size: 1 })
const batch = (server: string, ...ids: string[]): RequestBatch => ({
  term: 7,
  session: 'life',
  sentAtMs: 1,
  server,
  requests: ids.map((id) => ({ action: 'load', id, sizeBytes: 1, payload: payload(id) })),
})
/** A process name that no other test uses. */
const newProcess = () => `[::1]:${randomUUID()}`

/** How long `work` takes to fail, in milliseconds. */
async function failing(work: Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await assert.rejects(work)
  return performance.now() - startedAt
}

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  )

/** The keys of the jobs in the queue of a process. */
const jobsOf = (redis: Redis, process: string): Promise<string[]> =>
  redis.keys(`${prefix}:load-${process.replaceAll(':', '_').replaceAll('[', '\\[')}:*[0-9]`)

describe('requests to data servers', () => {
  it('reach their process unchanged', async (context) => {
    const { redis } = await openProducer(context)
    const sender = createRequestSender(redis, prefix)
    const [mine, other] = [newProcess(), newProcess()]
    const received: RequestBatch[] = []
    const receiver = await receiveRequests(settings, mine, 1, async (one) => {
      received.push(one)
    })
    context.after(receiver.close)
    const sent = {
      ...batch(mine, 'a', 'ü🐨'),
      requests: [...batch(mine, 'a').requests, { action: 'drop', id: 'b:1' }],
    } as const
    await sender.send(other, batch(other, 'x'))
    await sender.send(mine, sent)
    await waitUntil('the batch', () => received.length > 0)
    assert.deepEqual(received, [sent])
    await sender.close()
  })

  it('wait for a process that has not started yet, and are removed when done', async (context) => {
    const { redis } = await openProducer(context)
    const sender = createRequestSender(redis, prefix)
    const process = newProcess()
    for (const id of ['a', 'b', 'c']) await sender.send(process, batch(process, id))
    const ids: string[] = []
    const receiver = await receiveRequests(settings, process, 1, async ({ requests }) => {
      ids.push(...requests.map(({ id }) => id))
    })
    context.after(receiver.close)
    await waitUntil('all of them', () => ids.length === 3)
    assert.deepEqual(ids, ['a', 'b', 'c'])
    await waitUntil('no job is left', async () => (await jobsOf(redis, process)).length === 0)
    await sender.close()
  })

  it('are handled up to the concurrency limit', async (context) => {
    const { redis } = await openProducer(context)
    const sender = createRequestSender(redis, prefix)
    const process = newProcess()
    let within = 0
    let max = 0
    let done = 0
    for (let index = 0; index < 9; index++) await sender.send(process, batch(process, String(index)))
    const receiver = await receiveRequests(settings, process, 3, async () => {
      within += 1
      max = Math.max(max, within)
      await waitUntil('three at once', () => max >= 3)
      within -= 1
      done += 1
    })
    context.after(receiver.close)
    await waitUntil('all are done', () => done === 9)
    assert.equal(max, 3)
    await sender.close()
  })

  it('are not retried if handling fails, because the coordinator decides again', async (context) => {
    const { redis } = await openProducer(context)
    const sender = createRequestSender(redis, prefix)
    const process = newProcess()
    let tries = 0
    const receiver = await receiveRequests(settings, process, 1, async ({ requests }) => {
      tries += 1
      if (requests.length === 1) throw new Error('it does not work')
    })
    context.after(receiver.close)
    await sender.send(process, batch(process, 'a'))
    await sender.send(process, batch(process, 'a', 'b'))
    await waitUntil('both', () => tries === 2)
    await sender.close()
  })

  it('fail immediately while Redis is unavailable, and are accepted once it is back', async (context) => {
    const { redis, gate } = await openProducer(context)
    const sender = createRequestSender(redis, prefix)
    const [known, unknown] = [newProcess(), newProcess()]
    await sender.send(known, batch(known, 'a'))
    await gate.cut()
    for (const process of [known, unknown, known])
      assert.ok((await failing(sender.send(process, batch(process, 'b')))) < 2000)
    await gate.reconnect()
    await waitUntil('the connection', () => redis.status === 'ready')
    for (const process of [known, unknown]) await sender.send(process, batch(process, 'c'))
    const ids: string[] = []
    for (const process of [known, unknown]) {
      const receiver = await receiveRequests(settings, process, 1, async ({ requests }) => {
        ids.push(...requests.map(({ id }) => id))
      })
      context.after(receiver.close)
    }
    await waitUntil('the sent batches', () => ids.length === 3)
    assert.deepEqual(ids.sort(), ['a', 'c', 'c'], 'failed batches were not sent')
    await sender.close()
  })

  it('fail immediately if Redis was never available', async (context) => {
    const { gate, gated } = await openProducer(context)
    await gate.cut()
    const redis = openProducerConnection(gated)
    context.after(() => redis.disconnect())
    const sender = createRequestSender(redis, prefix)
    const process = newProcess()
    for (let round = 0; round < 2; round++)
      assert.ok((await failing(sender.send(process, batch(process, 'b')))) < 2000)
    await gate.reconnect()
    await waitUntil('the connection', () => redis.status === 'ready')
    await sender.send(process, batch(process, 'b'))
    await sender.close()
  })

  it('reach a receiver after Redis was unavailable', async (context) => {
    const { gate, gated, redis } = await openProducer(context)
    const sender = createRequestSender(redis, prefix)
    const process = newProcess()
    const ids: string[] = []
    const receiver = await receiveRequests(gated, process, 1, async ({ requests }) => {
      ids.push(...requests.map(({ id }) => id))
    })
    context.after(receiver.close)
    await sender.send(process, batch(process, 'before'))
    await waitUntil('the first', () => ids.length === 1)
    await gate.cut()
    await gate.reconnect()
    await waitUntil('it can be sent', () => succeeds(sender.send(process, batch(process, 'after'))))
    await waitUntil('the second', () => ids.includes('after'))
    await sender.close()
  })

  it('are no longer taken after a close, whether Redis is available, unavailable, or never was available', async (context) => {
    const { gate, gated, redis } = await openProducer(context)
    const sender = createRequestSender(redis, prefix)
    const process = newProcess()
    let taken = 0
    const open = async () => {
      const receiver = await receiveRequests(gated, process, 1, async () => {
        taken += 1
      })
      context.after(receiver.close)
      return receiver
    }
    const first = await open()
    await sender.send(process, batch(process, 'a'))
    // Otherwise Redis might receive the acknowledgment, which also takes the next batch, after that batch.
    await waitUntil('it is acknowledged', async () => (await jobsOf(redis, process)).length === 0)
    assert.equal(taken, 1)
    await first.close()
    await sender.send(process, batch(process, 'b'))
    const second = await open()
    await waitUntil('the second takes it', () => taken === 2)
    await gate.cut()
    await second.close()
    const third = await open()
    await third.close()
    assert.equal(taken, 2)
  })
})

describe('the queue epoch', () => {
  it('stays until the queues are lost', async (context) => {
    const { redis } = await openProducer(context)
    const epoch = await readQueueEpoch(redis, prefix)
    assert.match(epoch, /^[\da-f-]{36}$/)
    assert.equal(await readQueueEpoch(redis, prefix), epoch)
    await stores.emptyQueues()
    assert.notEqual(await readQueueEpoch(redis, prefix), epoch)
  })

  it('is the same for concurrent readers', async (context) => {
    const { redis } = await openProducer(context)
    const others = await Promise.all([openProducer(context), openProducer(context)])
    await stores.emptyQueues()
    const epochs = await Promise.all(
      [redis, ...others.map((one) => one.redis)].map((one) => readQueueEpoch(one, prefix)),
    )
    assert.equal(new Set(epochs).size, 1)
  })

  it('fails immediately while Redis is unavailable', async (context) => {
    const { redis, gate } = await openProducer(context)
    await gate.cut()
    assert.ok((await failing(readQueueEpoch(redis, prefix))) < 2000)
  })
})

describe('tasks', () => {
  const task = (id: string, attempt = 0, priority = 50) => ({ id, attempt, priority })

  it('run by priority, one per slot', async (context) => {
    await stores.emptyQueues()
    const { redis } = await openProducer(context)
    const sender = createTaskSender(redis, prefix)
    for (const [id, priority] of [
      ['low', -5],
      ['middle', 50],
      ['urgent', 75],
      ['most urgent', 10_000_000],
    ] as const)
      await sender.send(task(id, 0, priority))
    const ids: string[] = []
    const receiver = await receiveTasks(settings, 1, async (id) => {
      ids.push(id)
    })
    context.after(receiver.close)
    await waitUntil('all', () => ids.length === 4)
    assert.deepEqual(ids, ['most urgent', 'urgent', 'middle', 'low'])
    await sender.close()
  })

  it('are queued once per attempt, and again when the attempt is done', async (context) => {
    await stores.emptyQueues()
    const { redis } = await openProducer(context)
    const sender = createTaskSender(redis, prefix)
    const odd = 'index_parallel_a:b/c_2026-01-01T00:00:00.000Z 🐨'
    for (let times = 0; times < 3; times++) await sender.send(task(odd))
    await sender.send(task(odd, 1))
    const ids: string[] = []
    const receiver = await receiveTasks(settings, 2, async (id) => {
      ids.push(id)
    })
    context.after(receiver.close)
    await waitUntil('both attempts', () => ids.length === 2)
    assert.deepEqual(ids, [odd, odd])
    await waitUntil('it can be queued again', async () => {
      await sender.send(task(odd))
      return ids.length > 2
    })
    await sender.close()
  })

  it('are no longer taken after a pause', async (context) => {
    await stores.emptyQueues()
    const { redis } = await openProducer(context)
    const sender = createTaskSender(redis, prefix)
    const ids: string[] = []
    let finish: () => void = () => undefined
    const first = await receiveTasks(settings, 1, (id) => {
      ids.push(`first ${id}`)
      return new Promise((resolve) => {
        finish = resolve
      })
    })
    await sender.send(task('a'))
    await waitUntil('it runs', () => ids.length === 1)
    await first.pause()
    await sender.send(task('b'))
    finish()
    const second = await receiveTasks(settings, 1, async (id) => {
      ids.push(`second ${id}`)
    })
    context.after(second.close)
    await waitUntil('the other takes it', () => ids.length === 2)
    assert.deepEqual(ids, ['first a', 'second b'])
    await first.close()
    await sender.close()
  })

  it('fail immediately while Redis is unavailable', async (context) => {
    const { redis, gate } = await openProducer(context)
    const sender = createTaskSender(redis, prefix)
    await sender.send(task('x'))
    await gate.cut()
    assert.ok((await failing(sender.send(task('y')))) < 2000)
    await gate.reconnect()
    await waitUntil('it is queued', () => succeeds(sender.send(task('y'))))
    await sender.close()
  })

  it('have a receiver that can be closed at any time', async () => {
    for (let round = 0; round < 3; round++) {
      const receiver = await receiveTasks(settings, 1, async () => undefined)
      await receiver.close()
    }
  })
})
