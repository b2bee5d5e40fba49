import type { Redis } from 'ioredis'
import type { Settings } from '../config/index.ts'
import { openConsumerConnection } from './connection.ts'
import { createProducerQueue } from './producer-queue.ts'

/** A task waiting for a worker. Its state is in the metadata store. */
interface TaskJob {
  readonly taskId: string
}

const queueName = 'tasks'
// BullMQ runs the lowest number first and takes 0 for "no priority"; tasks run the highest first.
const maxPriority = 1_000_000

/** Queues tasks for the workers. */
export interface TaskSender {
  /**
   * Queues an attempt of a task. The same attempt is queued only once, however often this is called. Throws if Redis is
   * unavailable.
   */
  send(task: { readonly id: string; readonly attempt: number; readonly priority: number }): Promise<void>
  close(): Promise<void>
}

export function createTaskSender(redis: Redis, prefix: string): TaskSender {
  const queue = createProducerQueue<TaskJob>(redis, prefix, queueName)
  return {
    send: async ({ id, attempt, priority }) => {
      // Job IDs must not contain colons, which separate the parts of a Redis key.
      const jobId = `${Buffer.from(id).toString('base64url')}-${attempt}`
      const rank = maxPriority - Math.min(Math.max(priority, 0), maxPriority - 1)
      await queue.add({ taskId: id }, { jobId, priority: rank })
    },
    close: () => queue.close(),
  }
}

/** Takes tasks while there are free slots. */
export interface TaskReceiver {
  /** Stops taking tasks; running tasks continue. */
  pause(): Promise<void>
  close(): Promise<void>
}

/** Passes each queued task to `run`, up to `slots` at a time. A task may be delivered twice, so `run` must claim it. */
export async function receiveTasks(
  settings: Settings,
  slots: number,
  run: (taskId: string) => Promise<void>,
): Promise<TaskReceiver> {
  const { Worker } = await import('bullmq')
  const connection = openConsumerConnection(settings)
  const worker = new Worker<TaskJob>(queueName, async (job) => run(job.data.taskId), {
    connection,
    prefix: settings.get('svc.queue.prefix'),
    concurrency: slots,
    skipVersionCheck: true,
    // If a worker dies before it claims its task, the job is delivered again after this time.
    lockDuration: 10_000,
    stalledInterval: 5000,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  })
  worker.on('error', () => undefined)
  return {
    pause: () => worker.pause(true),
    close: async () => {
      await worker.close(true)
      connection.disconnect()
    },
  }
}
