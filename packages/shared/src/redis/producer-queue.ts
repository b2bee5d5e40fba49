import { describeError, unavailable } from '@svc/domain/failure'
import type { JobsOptions, Queue } from 'bullmq'
import type { Redis } from 'ioredis'

/** A queue that work is put into. */
export interface ProducerQueue<Work> {
  /** Puts work in. Where Redis is away that is an `unavailable` failure, at once. */
  add(work: Work, options?: JobsOptions): Promise<void>
  close(): Promise<void>
}

/** A queue of this name, opened at the first use: until then the library of queues takes no memory either. */
export function createProducerQueue<Work>(redis: Redis, prefix: string, name: string): ProducerQueue<Work> {
  let opened: Promise<Queue> | undefined
  const open = async (): Promise<Queue> => {
    const bullmq = await import('bullmq')
    const queue = new bullmq.Queue(name, { connection: redis, prefix, skipVersionCheck: true })
    queue.on('error', () => undefined)
    return queue
  }
  return {
    add: async (work, options) => {
      // A queue that is opened without a connection would wait for it.
      if (redis.status !== 'ready') throw unavailable('Redis, which holds the queues, cannot be reached now')
      opened ??= open()
      const used = opened
      const queue = await used
      try {
        await queue.add('work', work, { ...options, removeOnComplete: true, removeOnFail: true })
      } catch (error) {
        // One that lost its connection while it was opened never recovers.
        if (opened === used) opened = undefined
        queue.close().catch(() => undefined)
        throw unavailable(`Redis, which holds the queues, cannot be used now: ${describeError(error)}`)
      }
    },
    close: async () => {
      await (await opened)?.close()
    },
  }
}
