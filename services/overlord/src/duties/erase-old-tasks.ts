import { opendir, stat, unlink } from 'node:fs/promises'
import path from 'node:path'
import { describeError } from '@svc/domain/failure'
import { assertLeads, eraseFinishedTasks, loadUnfinishedTaskIds } from '@svc/shared/postgres'
import { type Loop, startLoop } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'
import { taskLogFile } from '@svc/shared/task-running'

// Number of tasks per transaction. Small transactions let other queries run in between.
const batchSize = 1000

/** Starts the loops that delete old finished tasks and task logs, if enabled, while this server is the leader. */
export function startErasingOldTasks(context: ServiceContext, term: () => number | undefined): Loop[] {
  const { settings, logger } = context
  const loop = (what: string, delayMs: number, erase: (isLeading: () => boolean) => Promise<number>): Loop =>
    startLoop(
      delayMs,
      async () => {
        const mine = term()
        const erased = await erase(() => mine !== undefined && term() === mine)
        if (erased > 0) logger.info('Deleted data past its retention period', { what, erased })
      },
      (error) =>
        logger.error('Failed to delete data past its retention period', {
          what,
          error: describeError(error),
        }),
    )
  return [
    ...(settings.get('svc.indexer.tasks.kill.enabled')
      ? [
          loop('finished tasks', settings.get('svc.indexer.tasks.kill.delay'), () =>
            eraseOldTasks(context, term()),
          ),
        ]
      : []),
    ...(settings.get('svc.indexer.logs.kill.enabled')
      ? [
          loop('task logs', settings.get('svc.indexer.logs.kill.delay'), (isLeading) =>
            eraseOldLogs(context, isLeading),
          ),
        ]
      : []),
  ]
}

/** Deletes tasks that finished before the retention period, as the leader of a term. Returns their number. */
export async function eraseOldTasks(
  { database, settings, stopping }: ServiceContext,
  term: number | undefined,
): Promise<number> {
  const keptMs = settings.get('svc.indexer.tasks.kill.durationToRetain')
  let erased = 0
  if (term === undefined) return erased
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
  { database, settings, stopping }: ServiceContext,
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
