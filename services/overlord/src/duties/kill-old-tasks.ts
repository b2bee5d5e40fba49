import type { Duty } from '@svc/shared/duties'
import { assertLeads, eraseFinishedTasks, loadUnfinishedTaskIds } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import { openTaskLogs, taskLogName } from '@svc/shared/task-running'

// Number of tasks per transaction. Small transactions let other queries run in between.
const batchSize = 1000

type Parts = Pick<ServiceContext, 'database' | 'settings' | 'stopping'>

/** Deletes finished tasks that are older than the duration to retain. */
export const killFinishedTasks = (context: Parts): Duty => ({
  name: 'killFinishedTasks',
  run: async (term) => didErase(await eraseOldTasks(context, term)),
})

/** Deletes task logs that are older than the duration to retain. */
export const killTaskLogs = (context: Parts, isLeading: (term: number) => boolean): Duty => ({
  name: 'killTaskLogs',
  run: async (term) => didErase(await eraseOldLogs(context, () => isLeading(term))),
})

const didErase = (erased: number) => (erased > 0 ? { erased } : undefined)

/** Deletes tasks that finished before the retention period, as the leader of a term. Returns their number. */
export async function eraseOldTasks({ database, settings, stopping }: Parts, term: number): Promise<number> {
  const keptMs = settings.get('svc.indexer.tasks.kill.durationToRetain')
  let erased = 0
  for (let batch = batchSize; batch >= batchSize && !stopping.aborted; erased += batch) {
    batch = await database.transaction(async (transaction) => {
      await assertLeads(transaction, 'overlord', term)
      return await eraseFinishedTasks(transaction, keptMs, batchSize)
    })
  }
  return erased
}

/**
 * Deletes logs that were last written before the retention period, while `isLeading`. Returns their number. Logs of
 * unfinished tasks are kept.
 */
export async function eraseOldLogs(
  { database, settings, stopping }: Parts,
  isLeading: () => boolean,
): Promise<number> {
  const logs = openTaskLogs(settings)
  const keptMs = settings.get('svc.indexer.logs.kill.durationToRetain')
  const unfinished = await loadUnfinishedTaskIds(database)
  const spared = new Set(unfinished.map(taskLogName))
  let erased = 0
  for await (const { path, modifiedAtMs } of logs.list('')) {
    if (stopping.aborted || !isLeading()) break
    // Use the system clock, because the store does too.
    const isOld = modifiedAtMs < Date.now() - keptMs
    if (!isOld || !path.endsWith('.log') || path.includes('/') || spared.has(path)) continue
    await logs.remove(path)
    erased += 1
  }
  return erased
}
