import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describeError } from '@svc/domain/failure'
import { type DeepStorage, safeFileName, storageFailure } from '../deep-storage/index.ts'
import { loadTask } from '../postgres/index.ts'
import type { ServiceContext } from '../service/index.ts'

/** One attempt to run a task. */
export interface TaskAttempt {
  readonly taskId: string
  readonly dataSource: string
  readonly attempt: number
}

/** The files of attempts until they are published: those in deep storage, and the folder in which each works. */
export interface AttemptFiles {
  /** Part of every path in deep storage of the attempt. */
  pathPrefix(attempt: TaskAttempt): string
  workDirectory(attempt: TaskAttempt): string
  /** Makes the folder of the attempt, with a note for the next start. Rejects with a Failure such as no room left. */
  begin(attempt: TaskAttempt): Promise<void>
  /**
   * Removes what attempts of the task up to this one, or only those before it, have left. Only for attempts that will
   * not be published any more. What cannot be removed is logged.
   */
  removeThrough(attempt: TaskAttempt): Promise<void>
  removeBefore(attempt: TaskAttempt): Promise<void>
  /** Removes the folder of an attempt of which nothing else is to be removed. */
  end(attempt: TaskAttempt): Promise<void>
  /** Removes what the attempts of this server have left that died with its former life. */
  removeFormer(): Promise<void>
}

const noteName = 'attempt.json'

export function createAttemptFiles(
  { settings, logger, database }: ServiceContext,
  deepStorage: DeepStorage,
): AttemptFiles {
  const baseDirectory = path.resolve(settings.get('svc.indexer.task.baseTaskDir'))
  const pathPrefix = ({ taskId, attempt }: TaskAttempt): string => `${safeFileName(taskId)}-${attempt}`
  const workDirectory = (attempt: TaskAttempt): string => path.join(baseDirectory, pathPrefix(attempt))
  const end = (attempt: TaskAttempt): Promise<void> =>
    rm(workDirectory(attempt), { recursive: true, force: true })

  async function remove(last: TaskAttempt, first: number): Promise<void> {
    const attempts: TaskAttempt[] = []
    for (let attempt = first; attempt <= last.attempt; attempt++) attempts.push({ ...last, attempt })
    if (attempts.length === 0) return
    try {
      await deepStorage.removeWritten(last.dataSource, attempts.map(pathPrefix))
      // The note goes last: as long as it is there, a start tries again.
      for (const attempt of attempts) await end(attempt)
    } catch (error) {
      const { taskId: task, attempt } = last
      logger.warn('Files without a segment stay in deep storage', {
        task,
        attempt,
        error: describeError(error),
      })
    }
  }

  async function removeOne(name: string): Promise<void> {
    const note = await readFile(path.join(baseDirectory, name, noteName), 'utf8').catch(() => undefined)
    // Without a note it is no folder of an attempt that has begun.
    if (note === undefined) return
    const attempt = JSON.parse(note) as TaskAttempt
    const task = await loadTask(database, attempt.taskId)
    const isNewest = task?.attempt === attempt.attempt
    // The next attempt removes what this one has left; until then it may belong to another server at work.
    if (isNewest && task.state === 'RUNNING') return
    if (task === undefined || (isNewest && task.state === 'SUCCESS')) await end(attempt)
    else await remove(attempt, attempt.attempt)
  }

  return {
    pathPrefix,
    workDirectory,
    end,
    begin: async (attempt) => {
      const directory = workDirectory(attempt)
      try {
        await mkdir(directory, { recursive: true })
        const { taskId, dataSource } = attempt
        const note = JSON.stringify({ taskId, dataSource, attempt: attempt.attempt } satisfies TaskAttempt)
        await writeFile(path.join(directory, noteName), note)
      } catch (error) {
        throw storageFailure(`The task's folder[${directory}] cannot be written`, directory, error)
      }
    },
    removeThrough: (attempt) => remove(attempt, 1),
    removeBefore: (attempt) => remove({ ...attempt, attempt: attempt.attempt - 1 }, 1),
    removeFormer: async () => {
      for (const name of await readdir(baseDirectory).catch(() => [])) {
        await removeOne(name).catch((error) =>
          logger.warn('What an attempt has left stays', { folder: name, error: describeError(error) }),
        )
      }
    },
  }
}
