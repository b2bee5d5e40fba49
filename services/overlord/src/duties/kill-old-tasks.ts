import { opendir, stat, unlink } from 'node:fs/promises'
import path from 'node:path'
import type { Duty } from '@svc/shared/duties'
import { assertLeads, eraseFinishedTasks, loadUnfinishedTaskIds } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import { taskLogFile } from '@svc/shared/task-running'

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
  const directory = path.resolve(settings.get('svc.indexer.logs.directory'))
  const keptMs = settings.get('svc.indexer.logs.kill.durationToRetain')
  // The directory does not exist until the first task runs.
  const entries = await opendir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const unfinished = await loadUnfinishedTaskIds(database)
  const spared = new Set(unfinished.map((id) => taskLogFile(directory, id)))
  let erased = 0
  for await (const entry of entries) {
    if (stopping.aborted || !isLeading()) break
    const file = path.join(directory, entry.name)
    if (!entry.isFile() || !entry.name.endsWith('.log') || spared.has(file)) continue
    // Use the system clock, because the file system does too.
    const isOld = await stat(file).then(
      ({ mtimeMs }) => mtimeMs < Date.now() - keptMs,
      () => false,
    )
    if (!isOld) continue
    await unlink(file)
    erased += 1
  }
  return erased
}
