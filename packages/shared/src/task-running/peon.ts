/**
 * The process of one task: it does the work and reports to its parent. It uses neither the metadata store nor the
 * queues. If it is killed, only files that no segment references are left behind.
 */
import { describeError, Failure } from '@svc/domain/failure'
import { isDiskFull, openDeepStorage, storageFailure } from '../deep-storage/index.ts'
import { slowedBy } from '../faults/index.ts'
import { stackOf } from '../runtime/index.ts'
import { taskTypeOf, type Written } from '../tasks/index.ts'
import type { PeonMessage, PeonOrder } from './peon-protocol.ts'

const send = (message: PeonMessage): Promise<void> =>
  new Promise((resolve) => {
    process.send?.(message, undefined, undefined, () => resolve())
  })

// A full disk for the log must not end the task before it has reported the problem to its parent.
process.stdout.on('error', () => undefined)

const log = (message: string, details: object = {}, level: 'info' | 'error' = 'info'): void => {
  const timestamp = new Date().toISOString()
  process.stdout.write(`${JSON.stringify({ timestamp, level, message, ...details })}\n`)
}

/** Returns the error as a Failure, including any error caused by a full disk; undefined for unexpected errors. */
function failureOf(error: unknown, workDirectory: string): Failure | undefined {
  if (error instanceof Failure) return error
  const failure = storageFailure(`Failed to write to task directory [${workDirectory}]`, workDirectory, error)
  return isDiskFull(failure) ? failure : undefined
}

async function work({ type, order, ...given }: PeonOrder): Promise<Written> {
  const { workDirectory, pathPrefix, memoryLimitBytes, threads } = given
  const taskType = taskTypeOf(type)
  if (taskType.work === undefined) throw new Error(`Tasks of type [${type}] do not run in a separate process`)
  return await taskType.work(order, {
    workDirectory,
    pathPrefix,
    memoryLimitBytes,
    threads,
    deepStorage: slowedBy(() => given.diskDelayMs, openDeepStorage(given.storage)),
    onProgress: (progress) => void send({ kind: 'progress', progress }),
    log,
  })
}

process.once('message', async (order: PeonOrder) => {
  try {
    log('Task started', { task: order.taskId, attempt: order.attempt })
    await send({ kind: 'done', ...(await work(order)) })
  } catch (error) {
    const failure = failureOf(error, order.workDirectory)
    const stack = failure ? {} : { stack: stackOf(error) }
    log('Task failed', { error: describeError(error), ...stack }, 'error')
    await send({
      kind: 'failed',
      message: failure?.message ?? 'The task failed unexpectedly; see the task log for details',
    })
  }
  process.disconnect?.()
})

// Without its parent, nobody would publish what this process writes.
process.once('disconnect', () => process.exit())
