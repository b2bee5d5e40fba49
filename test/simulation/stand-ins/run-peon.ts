/** Stands in for the process of a task: does the same work in the process of its worker, which cannot outlive it anyway. */
import { describeError, Failure } from '@svc/domain/failure'
import { isDiskFull, openDeepStorage, storageFailure } from '@svc/shared/deep-storage'
import { slowedBy } from '@svc/shared/faults'
import type { runPeon as run } from '@svc/shared/task-running'
import { taskTypeOf } from '@svc/shared/tasks'
import { environmentOf, runningProcess } from '../environment.ts'

/** Runs the work of a task. Like the death of a process, an aborted signal ends it at once. */
export const runPeon: typeof run = async (order, _logFile, onProgress, signal) => {
  const { promise: killed, resolve } = Promise.withResolvers<{ kind: 'died'; how: string }>()
  const kill = (): void => resolve({ kind: 'died', how: 'SIGKILL' })
  if (signal.aborted) kill()
  signal.addEventListener('abort', kill, { once: true })
  try {
    return await Promise.race([killed, work(order, onProgress)])
  } finally {
    signal.removeEventListener('abort', kill)
  }
}

async function work(
  { type, order, storage, diskDelayMs, ...given }: Parameters<typeof run>[0],
  onProgress: (progress: unknown) => void,
): ReturnType<typeof run> {
  const startMs = 2000 * Math.random() * environmentOf(runningProcess()).taskSeconds
  await new Promise((resolve) => setTimeout(resolve, startMs))
  try {
    const deepStorage = slowedBy(() => diskDelayMs, openDeepStorage(storage))
    const written = await taskTypeOf(type).work!(order, {
      ...given,
      deepStorage,
      onProgress,
      log: () => undefined,
    })
    return { kind: 'done', ...written }
  } catch (error) {
    const failure =
      error instanceof Failure ? error : storageFailure('Failed to write', given.workDirectory, error)
    if (error instanceof Failure || isDiskFull(failure)) return { kind: 'failed', message: failure.message }
    return { kind: 'failed', message: `The task failed unexpectedly: ${describeError(error)}` }
  }
}
