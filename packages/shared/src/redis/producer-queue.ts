import { describeError, unavailable } from '@svc/domain/failure'
import type { JobsOptions, Queue } from 'bullmq'
import type { Redis } from 'ioredis'

/** The producer side of a queue. */
export interface ProducerQueue<Work> {
  /** Adds work. Throws an `unavailable` Failure immediately if Redis is unavailable. */
  add(work: Work, options?: JobsOptions): Promise<void>
  close(): Promise<void>
}

/** Returns the queue with this name, opened on first use; until then, the queue library uses no memory either. */
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
      // A queue opened without a connection would wait for one.
      if (redis.status !== 'ready') throw unavailable('Redis (work queues) is unavailable')
      opened ??= open()
      const used = opened
      const queue = await used
      try {
        await queue.add('work', work, { ...options, removeOnComplete: true, removeOnFail: true })
      } catch (error) {
        // A queue that lost its connection while opening never recovers.
        if (opened === used) opened = undefined
        queue.close().catch(() => undefined)
        throw unavailable(`Redis (work queues) is unavailable: ${describeError(error)}`)
      }
    },
    close: async () => {
      await (await opened)?.close()
    },
  }
}
