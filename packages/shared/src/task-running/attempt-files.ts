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

/**
 * The files of task attempts until they are published: those in deep storage, and the working directory of each
 * attempt.
 */
export interface AttemptFiles {
  /** Part of every path of the attempt in deep storage. */
  pathPrefix(attempt: TaskAttempt): string
  workDirectory(attempt: TaskAttempt): string
  /** Creates the working directory of the attempt, with a note for the next start. Rejects with a Failure, for example if
   * the disk is full. */
  begin(attempt: TaskAttempt): Promise<void>
  /**
   * Removes the files of the task's attempts up to and including this one, or only those before it. Only for attempts
   * that will not be published. Failures are logged.
   */
  removeThrough(attempt: TaskAttempt): Promise<void>
  removeBefore(attempt: TaskAttempt): Promise<void>
  /** Removes only the working directory of an attempt. */
  end(attempt: TaskAttempt): Promise<void>
  /** Removes the files of attempts that died in an earlier lifetime of this server. */
  removeFormer(): Promise<void>
}

const noteName = 'attempt.json'

export function createAttemptFiles(
  { settings, logger, database }: Pick<ServiceContext, 'settings' | 'logger' | 'database'>,
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
      // The note is removed last: as long as it exists, the next start tries again.
      for (const attempt of attempts) await end(attempt)
    } catch (error) {
      const { taskId: task, attempt } = last
      logger.warn('Failed to clean up files of a task attempt in deep storage', {
        task,
        attempt,
        error: describeError(error),
      })
    }
  }

  async function removeOne(name: string): Promise<void> {
    const note = await readFile(path.join(baseDirectory, name, noteName), 'utf8').catch(() => undefined)
    // Without a note, this is not the directory of a started attempt.
    if (note === undefined) return
    const attempt = JSON.parse(note) as TaskAttempt
    const task = await loadTask(database, attempt.taskId)
    const isNewest = task?.attempt === attempt.attempt
    // The next attempt removes the files of this one; until then, another server may be using them.
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
        throw storageFailure(`Failed to write to task directory [${directory}]`, directory, error)
      }
    },
    removeThrough: (attempt) => remove(attempt, 1),
    removeBefore: (attempt) => remove({ ...attempt, attempt: attempt.attempt - 1 }, 1),
    removeFormer: async () => {
      for (const name of await readdir(baseDirectory).catch(() => [])) {
        await removeOne(name).catch((error) =>
          logger.warn('Failed to clean up after a task attempt', {
            folder: name,
            error: describeError(error),
          }),
        )
      }
    },
  }
}
