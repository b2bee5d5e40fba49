import { explainTask, type TaskSurroundings } from '@svc/domain/explanation'
import { totalWorkerCapacity } from '@svc/shared/discovery'
import type { InputAccess } from '@svc/shared/ingestion'
import {
  countRunningOfType,
  countRunningTasks,
  countTasksAhead,
  loadTaskLocks,
  loadTaskPayload,
  type StoredTask,
} from '@svc/shared/postgres'
import type { Caller } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { taskNeedsOf } from '@svc/shared/task-running'

type Context = Pick<ServiceContext, 'database' | 'settings' | 'discovery'>

/** Returns why a task is pending, what it is doing, or why it failed, in sentences. */
export async function explanationOf(
  context: Context,
  access: InputAccess,
  task: StoredTask,
  caller: Caller,
): Promise<string[]> {
  return explainTask(task, await surroundingsOf(context, access, task, caller))
}

async function surroundingsOf(
  { database, settings, discovery }: Context,
  access: InputAccess,
  task: StoredTask,
  caller: Caller,
): Promise<TaskSurroundings> {
  const { lock, limit } = taskNeedsOf(task, await loadTaskPayload(database, task.id), { settings, access })
  const isPending = task.state === 'PENDING'
  const seesCluster = caller.can('READ', 'STATE', 'STATE')
  if (isPending) await discovery.refresh()
  // Other tasks of the datasource may be named: the caller may read it.
  const locks = isPending ? await loadTaskLocks(database) : []
  return {
    lockedInterval: lock?.interval,
    locks: locks.filter(({ dataSource }) => dataSource === task.dataSource),
    limit:
      isPending && limit
        ? { ...limit, running: await countRunningOfType(database, limit.type, task.id) }
        : undefined,
    slots: totalWorkerCapacity(discovery),
    usedSlots: isPending ? await countRunningTasks(database) : 0,
    ahead: isPending && seesCluster ? await countTasksAhead(database, task) : 0,
    seesCluster,
  }
}
