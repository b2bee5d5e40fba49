import { describeError } from '@svc/domain/failure'
import { loadUnclaimedTasks } from '@svc/shared/postgres'
import type { TaskSender } from '@svc/shared/redis'
import { createTroubleLog, type Loop, startLoop } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'

const lookPeriodMs = 2000
const mostTasksPerLook = 1000

/**
 * Puts every task that no worker works on before the workers, again and again while this server leads: whatever
 * the queue has lost, or a dead worker has left, comes back this way.
 */
export function startTaskQueueing({ database, logger }: ServiceContext, sender: TaskSender): Loop {
  const trouble = createTroubleLog(logger)
  return startLoop(
    lookPeriodMs,
    async () => {
      for (const task of await loadUnclaimedTasks(database, mostTasksPerLook)) await sender.send(task)
      trouble.over('Tasks can be queued again')
    },
    (error) => trouble.tell('Tasks cannot be queued', { error: describeError(error) }),
  )
}
