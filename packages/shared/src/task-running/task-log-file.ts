import path from 'node:path'
import { safeFileName } from '../deep-storage/index.ts'

/** Returns the path of a task's log file. */
export const taskLogFile = (directory: string, taskId: string): string =>
  path.join(directory, `${safeFileName(taskId)}.log`)
