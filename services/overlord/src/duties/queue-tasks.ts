import type { Duty } from '@svc/shared/duties'
import { type Database, loadUnclaimedTasks, loadUnclaimedTasksAfter } from '@svc/shared/postgres'
import type { TaskSender } from '@svc/shared/redis'

// Maximum number of tasks by priority, and of other tasks, to queue per run.
const maxTasksPerRun = 1000

/** Queues every task that no worker has claimed. This recovers tasks that were lost with the queue or with a worker. */
export function queueTasks(database: Database, sender: TaskSender): Duty {
  let lastId = ''
  return {
    name: 'queueTasks',
    isFrequent: true,
    run: async () => {
      const tasks = await loadUnclaimedTasks(database, maxTasksPerRun)
      for (const task of tasks) await sender.send(task)
      // The first tasks may all be waiting for a lock or a limit, so also queue the others in turn.
      const others = await loadUnclaimedTasksAfter(database, lastId, maxTasksPerRun)
      for (const task of others) await sender.send(task)
      lastId = others.length < maxTasksPerRun ? '' : others.at(-1)!.id
      const queued = new Set([...tasks, ...others].map(({ id }) => id)).size
      return queued > 0 ? { queued } : undefined
    },
  }
}
