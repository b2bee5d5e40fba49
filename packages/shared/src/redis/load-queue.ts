import type { Redis } from 'ioredis'
import type { Settings } from '../config/index.ts'
import { openConsumerConnection } from './connection.ts'
import { createProducerQueue, type ProducerQueue } from './producer-queue.ts'

/**
 * A request to a data server about one segment. `payload` is the JSON text from the metadata store, which only servers that load
 * data parse.
 */
export type SegmentRequest =
  | { readonly action: 'load'; readonly id: string; readonly sizeBytes: number; readonly payload: string }
  | { readonly action: 'drop'; readonly id: string }

/**
 * Requests from one leader to one server, in one job. `term` is the leader's fencing token, and `session` is the
 * lifetime of the server that the leader decided for. A server ignores batches of an old term or session, and those
 * that the leader has revoked.
 */
export interface RequestBatch {
  readonly term: number
  readonly session: string
  /** Milliseconds on the leader's clock; never less than in an earlier batch. */
  readonly sentAtMs: number
  readonly server: string
  readonly requests: readonly SegmentRequest[]
  /** Whether to work on several requests at a time, even if that slows queries down. */
  readonly turbo?: boolean
}

// Queue names must not contain colons, which separate the parts of a Redis key.
const queueName = (process: string): string => `load-${process.replaceAll(':', '_')}`

/** Puts batches into the queues of data servers. */
export interface RequestSender {
  /** Queues a batch for the process that runs `batch.server`. Throws if Redis is unavailable. */
  send(process: string, batch: RequestBatch): Promise<void>
  close(): Promise<void>
}

export function createRequestSender(redis: Redis, prefix: string): RequestSender {
  const queues = new Map<string, ProducerQueue<RequestBatch>>()
  return {
    send: async (process, batch) => {
      let queue = queues.get(process)
      if (!queue) {
        queue = createProducerQueue(redis, prefix, queueName(process))
        queues.set(process, queue)
      }
      await queue.add(batch)
    },
    close: async () => {
      await Promise.all([...queues.values()].map((queue) => queue.close()))
    },
  }
}

/** Takes batches out of the queue of a process. */
export interface RequestReceiver {
  close(): Promise<void>
}

/** Passes each batch for `process` to `handle`, up to `concurrency` at a time. Batches are delivered at least once. */
export async function receiveRequests(
  settings: Settings,
  process: string,
  concurrency: number,
  handle: (batch: RequestBatch) => Promise<void>,
): Promise<RequestReceiver> {
  const { Worker } = await import('bullmq')
  const connection = openConsumerConnection(settings)
  const inProgress = new Set<Promise<void>>()
  const work = async ({ data }: { readonly data: RequestBatch }): Promise<void> => {
    const handled = handle(data)
    inProgress.add(handled)
    await handled.finally(() => inProgress.delete(handled))
  }
  const worker = new Worker<RequestBatch>(queueName(process), work, {
    connection,
    prefix: settings.get('svc.queue.prefix'),
    concurrency,
    skipVersionCheck: true,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  })
  worker.on('error', () => undefined)
  return {
    close: async () => {
      // The worker's own wait never ends without Redis. Batches that are not acknowledged by then are delivered again,
      // and a later lifetime of this server ignores them.
      await Promise.allSettled(inProgress)
      await worker.close(true)
      connection.disconnect()
    },
  }
}
