import type { Redis } from 'ioredis'
import type { Settings } from '../config/index.ts'
import { openConsumerConnection } from './connection.ts'
import { createProducerQueue } from './producer-queue.ts'

/** A task waiting for a worker; all that is true of it stands in the metadata store. */
interface TaskJob {
  readonly taskId: string
}

const queueName = 'tasks'
// BullMQ runs the lowest number first and takes 0 for "no priority"; tasks run the highest first.
const mostPriority = 1_000_000

/** Puts tasks before the workers. */
export interface TaskSender {
  /**
   * Queues an attempt of a task; the same attempt is queued once, however often it is asked for. Throws where Redis is
   * away.
   */
  send(task: { readonly id: string; readonly attempt: number; readonly priority: number }): Promise<void>
  close(): Promise<void>
}

export function createTaskSender(redis: Redis, prefix: string): TaskSender {
  const queue = createProducerQueue<TaskJob>(redis, prefix, queueName)
  return {
    send: async ({ id, attempt, priority }) => {
      // Job ids may not hold colons, which separate the parts of a Redis key.
      const jobId = `${Buffer.from(id).toString('base64url')}-${attempt}`
      const rank = mostPriority - Math.min(Math.max(priority, 0), mostPriority - 1)
      await queue.add({ taskId: id }, { jobId, priority: rank })
    },
    close: () => queue.close(),
  }
}

/** Takes tasks while there are free slots. */
export interface TaskReceiver {
  /** Takes no more tasks; those under way go on. */
  pause(): Promise<void>
  close(): Promise<void>
}

/** Hands every queued task to `run`, `slots` at a time; a task may come twice, `run` claims it. */
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
    // A worker that died before it claimed its task gives the job back after this time.
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
