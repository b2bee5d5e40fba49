import { stat } from 'node:fs/promises'
import path from 'node:path'
import { describeError, Failure } from '@svc/domain/failure'
import type { Settings } from '../config/index.ts'
import { type FileStore, openStore, safeFileName, taskLogConfig } from '../deep-storage/index.ts'
import { type Logger, startLoop } from '../runtime/index.ts'

/** Returns the name of a task's log in the store of task logs. `taskId` is the unique ID. */
export const taskLogName = (taskId: string): string => `${safeFileName(taskId)}.log`

/** Returns the path of a task's log in a folder. */
export const taskLogFile = (directory: string, taskId: string): string =>
  path.join(directory, taskLogName(taskId))

/** Opens the store of task logs. */
export const openTaskLogs = (settings: Settings): FileStore =>
  openStore('task log storage', taskLogConfig(settings))

/** The log of an attempt in progress. */
export interface GrowingLog {
  /** The local file to which the process of the task appends. */
  readonly file: string
  /** Stores the rest of the log. Problems are logged: they do not change how the task ends. */
  close(): Promise<void>
}

/** The attempt that writes a log. */
interface LoggedAttempt {
  readonly taskId: string
  readonly attempt: number
  readonly workDirectory: string
}

// How far the log of a running task in S3 may be behind.
const uploadPeriodMs = 5000

/**
 * Opens the log of an attempt. A log in S3 grows in the working directory of the attempt and is uploaded regularly, so that
 * it survives the worker.
 */
export async function openGrowingLog(
  logs: FileStore,
  { taskId, attempt, workDirectory }: LoggedAttempt,
  logger: Logger,
): Promise<GrowingLog> {
  const name = taskLogName(taskId)
  if (logs.type === 'local') return { file: path.join(logs.location, name), close: async () => undefined }
  const file = path.join(workDirectory, 'task.log')
  const warn = (error: unknown): void =>
    logger.warn('Failed to store the log of a task', { task: taskId, attempt, error: describeError(error) })
  // Earlier attempts may have run on another worker.
  if (attempt > 1) {
    await logs.get(name, file).catch((error: unknown) => {
      if (!(error instanceof Failure && error.code === 'notFound')) warn(error)
    })
  }
  let storedBytes = 0
  const store = async (): Promise<void> => {
    // The process of the task creates the file.
    const size = (await stat(file).catch(() => undefined))?.size ?? 0
    if (size === storedBytes) return
    await logs.put(file, name)
    storedBytes = size
  }
  const loop = startLoop(uploadPeriodMs, store, warn)
  return {
    file,
    close: async () => {
      await loop.stop()
      await store().catch(warn)
    },
  }
}
