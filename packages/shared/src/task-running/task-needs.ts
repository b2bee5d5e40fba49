import { Failure } from '@svc/domain/failure'
import type { Settings } from '../config/index.ts'
import type { InputAccess } from '../ingestion/index.ts'
import type { StoredTask, TaskNeeds } from '../postgres/index.ts'
import { taskTypeOf } from '../tasks/index.ts'

/** Returns what a task needs in addition to a free slot: a lock, and to be within the limit of its type. */
export function taskNeedsOf(
  task: StoredTask,
  payload: unknown,
  { settings, access }: { readonly settings: Settings; readonly access: InputAccess },
): TaskNeeds {
  const maxRunning = settings.get('svc.indexer.task.maxRunningByType').get(task.type)
  return {
    lock: lockOf(task, payload, access),
    limit: maxRunning === undefined ? undefined : { type: task.type, maxRunning },
  }
}

/** Returns the lock that a task needs; undefined if it needs none, or if it is invalid and fails as soon as it runs. */
function lockOf({ type, dataSource, priority }: StoredTask, payload: unknown, access: InputAccess) {
  try {
    const taskType = taskTypeOf(type)
    const interval = taskType.lock?.(taskType.parse(payload, access))
    return interval && { dataSource, interval, priority }
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}
