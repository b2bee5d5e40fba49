import type { SegmentPayload } from '@svc/domain/segment'
import type { Redis } from 'ioredis'
import type { Settings } from '../config/index.ts'
import { openConsumerConnection } from './connection.ts'
import { createProducerQueue, type ProducerQueue } from './producer-queue.ts'

/** What a data server is asked to do with one segment. */
export type SegmentRequest =
  | { readonly action: 'load'; readonly payload: SegmentPayload }
  | { readonly action: 'drop'; readonly id: string }

/**
 * Requests of one leader to one server, in one job. `term` is the leader's fencing number, `session` the life of
 * the server that the leader decided for: a batch that outlived either is void, and so is one that the leader has
 * declared void.
 */
export interface RequestBatch {
  readonly term: number
  readonly session: string
  /** Milliseconds of the leader's own clock, never less than in an earlier batch. */
  readonly sentAtMs: number
  readonly server: string
  readonly requests: readonly SegmentRequest[]
  /** To be worked on several at a time, however much queries feel of it. */
  readonly turbo?: boolean
}

// Queue names may not hold colons, which separate the parts of a Redis key.
const queueName = (process: string): string => `load-${process.replaceAll(':', '_')}`

/** Puts batches into the queues of data servers. */
export interface RequestSender {
  /** Queues a batch for the process that serves as `batch.server`. Throws where Redis is away. */
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

/** Hands every batch for `process` to `handle`, some at a time; a batch may come twice. */
export async function receiveRequests(
  settings: Settings,
  process: string,
  concurrency: number,
  handle: (batch: RequestBatch) => Promise<void>,
): Promise<RequestReceiver> {
  const { Worker } = await import('bullmq')
  const connection = openConsumerConnection(settings)
  const underWay = new Set<Promise<void>>()
  const work = async ({ data }: { readonly data: RequestBatch }): Promise<void> => {
    const handled = handle(data)
    underWay.add(handled)
    await handled.finally(() => underWay.delete(handled))
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
      // Not by the worker's own way of waiting, which has no end without Redis. What is not ticked off by then comes
      // again, and is void for another life of this server.
      await Promise.allSettled(underWay)
      await worker.close(true)
      connection.disconnect()
    },
  }
}
