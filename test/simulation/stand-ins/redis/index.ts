/** Stands in for the work queues: the functions of `@svc/shared/redis`, on a simulated server. */

import { describeError, unavailable } from '@svc/domain/failure'
import type * as real from '@svc/shared/redis'
import { environmentOf, runningProcess } from '../../environment.ts'
import type { Exchange, SimulatedProcess } from '../../kernel/index.ts'
import { randomUUID } from '../crypto.ts'
import type { Job, QueueServer } from './queue-server.ts'

export * from '@svc/shared/redis'

// As in the connections and workers of the product.
const commandTimeoutMs = 5000
const reconnectMs = 1000
const idleTimeoutMs = 30_000
const loadLockMs = 30_000
const taskLockMs = 10_000
const tasksQueue = 'tasks'
const maxPriority = 1_000_000

const loadQueue = (process: string): string => `load ${process}`
const copyOf = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value

/** A connection of the running process. Commands on it fail while Redis is unavailable. */
export const openProducerConnection: typeof real.openProducerConnection = () =>
  ({ disconnect: () => undefined }) as unknown as real.QueueConnection

/** Runs a command. Throws an unavailable Failure if it fails, even though it may have taken effect. */
async function command<Answer>(work: (queues: QueueServer) => Answer): Promise<Answer> {
  const from = runningProcess()
  const { network, queues } = environmentOf(from)
  try {
    return await network.call({
      from,
      to: queues.machine,
      serve: () => work(queues),
      stuckTimeoutMs: commandTimeoutMs,
    })
  } catch (error) {
    throw unavailable(`Redis (work queues) is unavailable: ${describeError(error)}`)
  }
}

export const readQueueEpoch: typeof real.readQueueEpoch = () => {
  const next = randomUUID()
  return command((queues) => queues.epochOr(next))
}

export const createRequestSender: typeof real.createRequestSender = () => ({
  send: (process, batch) => {
    const from = runningProcess()
    environmentOf(from).observeBatch(from, batch)
    const data = copyOf(batch)
    return command((queues) => queues.add(loadQueue(process), data))
  },
  close: async () => undefined,
})

export const createTaskSender: typeof real.createTaskSender = () => ({
  send: ({ id, attempt, priority }) =>
    command((queues) => queues.add(tasksQueue, id, maxPriority - Math.max(priority, 0), `${id} ${attempt}`)),
  close: async () => undefined,
})

/** Takes jobs of a queue, up to `concurrency` at a time, until the returned functions are called. */
function takeJobs(
  queue: string,
  concurrency: number,
  lockMs: number,
  handle: (data: unknown) => Promise<void>,
): { readonly stop: () => void; readonly inProgress: ReadonlySet<Promise<void>> } {
  const from = runningProcess()
  const stopping = new AbortController()
  const inProgress = new Set<Promise<void>>()
  const workOn = async (job: Job): Promise<void> => {
    job.isReceived = true
    const handled = handle(job.data).catch(() => undefined)
    inProgress.add(handled)
    await handled
    inProgress.delete(handled)
    // Whether or not the queue learns that it is done, nobody renews its lock now.
    if (job.holder === from) job.isReceived = false
    await command((queues) => queues.complete(queue, job)).catch(() => undefined)
  }
  const work = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const job = await take(from, queue, lockMs, stopping.signal)
      if (stopping.signal.aborted) return
      if (job === undefined) await new Promise((resolve) => setTimeout(resolve, reconnectMs))
      else await workOn(job)
    }
  }
  for (let slot = 0; slot < concurrency; slot++) void work()
  return { stop: () => stopping.abort(), inProgress }
}

/** Waits for a job. Returns undefined if the connection breaks. */
async function take(
  from: SimulatedProcess,
  queue: string,
  lockMs: number,
  signal: AbortSignal,
): Promise<Job | undefined> {
  const { network, queues } = environmentOf(from)
  const serve = (exchange: Exchange): Promise<Job> => queues.take(queue, lockMs, exchange)
  return await network
    .call({ from, to: queues.machine, serve, signal, stuckTimeoutMs: idleTimeoutMs })
    .catch(() => undefined)
}

export const receiveRequests: typeof real.receiveRequests = async (
  _settings,
  process,
  concurrency,
  handle,
) => {
  const receive = (batch: real.RequestBatch): Promise<void> => {
    const receiver = runningProcess()
    environmentOf(receiver).observeReceived(receiver, batch)
    return handle(batch)
  }
  const { stop, inProgress } = takeJobs(loadQueue(process), concurrency, loadLockMs, (data) =>
    receive(copyOf(data) as real.RequestBatch),
  )
  return {
    close: async () => {
      await Promise.allSettled(inProgress)
      stop()
    },
  }
}

export const receiveTasks: typeof real.receiveTasks = async (_settings, slots, run) => {
  const { stop } = takeJobs(tasksQueue, slots, taskLockMs, (data) => run(data as string))
  return {
    pause: async () => stop(),
    close: async () => stop(),
  }
}
