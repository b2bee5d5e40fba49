import { describeError } from '@svc/domain/failure'
import { loadUnclaimedTasks, loadUnclaimedTasksAfter } from '@svc/shared/postgres'
import type { TaskSender } from '@svc/shared/redis'
import { createTroubleLog, type Loop, startLoop } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'

const pollPeriodMs = 2000
// Maximum number of tasks by priority, and of other tasks, to queue per period.
const maxTasksPerLook = 1000

/**
 * Periodically queues every task that no worker has claimed, while this server is the leader. This recovers tasks that
 * were lost with the queue or with a worker.
 */
export function startTaskQueueing({ database, logger }: ServiceContext, sender: TaskSender): Loop {
  const trouble = createTroubleLog(logger)
  let lastId = ''
  return startLoop(
    pollPeriodMs,
    async () => {
      for (const task of await loadUnclaimedTasks(database, maxTasksPerLook)) await sender.send(task)
      // The first tasks may all be waiting for a lock or a limit, so also queue the others in turn.
      const others = await loadUnclaimedTasksAfter(database, lastId, maxTasksPerLook)
      for (const task of others) await sender.send(task)
      lastId = others.length < maxTasksPerLook ? '' : others.at(-1)!.id
      trouble.over('Resumed queueing tasks')
    },
    (error) => trouble.report('Failed to queue tasks', { error: describeError(error) }),
  )
}
