import { describeError } from '@svc/domain/failure'
import { loadUnclaimedTasks, loadUnclaimedTasksAfter } from '@svc/shared/postgres'
import type { TaskSender } from '@svc/shared/redis'
import { createTroubleLog, type Loop, startLoop } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'

const lookPeriodMs = 2000
// Tasks of the highest priorities, and as many others, that one look queues.
const maxTasksPerLook = 1000

/**
 * Puts every task that no worker works on before the workers, again and again while this server leads: whatever
 * the queue has lost, or a dead worker has left, comes back this way.
 */
export function startTaskQueueing({ database, logger }: ServiceContext, sender: TaskSender): Loop {
  const trouble = createTroubleLog(logger)
  let lastId = ''
  return startLoop(
    lookPeriodMs,
    async () => {
      for (const task of await loadUnclaimedTasks(database, maxTasksPerLook)) await sender.send(task)
      // Alternating, all tasks get here: the first ones may all be waiting for a lock or a limit that others do not need.
      const others = await loadUnclaimedTasksAfter(database, lastId, maxTasksPerLook)
      for (const task of others) await sender.send(task)
      lastId = others.length < maxTasksPerLook ? '' : others.at(-1)!.id
      trouble.over('Tasks can be queued again')
    },
    (error) => trouble.tell('Tasks cannot be queued', { error: describeError(error) }),
  )
}
