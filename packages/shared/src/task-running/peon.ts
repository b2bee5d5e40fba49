/**
 * The process of one task: it does the work and reports to its parent. It uses neither the metadata store nor the
 * queues. If it is killed, only files that no segment references are left behind.
 */
import { describeError, Failure } from '@svc/domain/failure'
import { rewriteSegments } from '../compaction/rewriting/index.ts'
import { createLocalDeepStorage, isDiskFull, storageFailure } from '../deep-storage/index.ts'
import { slowedBy } from '../faults/index.ts'
import { parseIndexSpec, runIndexTask } from '../ingestion/index.ts'
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
  const failure = storageFailure(`Task directory[${workDirectory}] cannot be written`, workDirectory, error)
  return isDiskFull(failure) ? failure : undefined
}

async function work(order: PeonOrder): Promise<Extract<PeonMessage, { kind: 'done' }>> {
  const { workDirectory, pathPrefix, memoryLimitBytes, threads } = order
  const options = {
    workDirectory,
    pathPrefix,
    memoryLimitBytes,
    threads,
    deepStorage: slowedBy(
      () => order.diskDelayMs,
      createLocalDeepStorage({ rootDirectory: order.storageDirectory }),
    ),
    onProgress: (progress: Extract<PeonMessage, { kind: 'progress' }>['progress']) =>
      void send({ kind: 'progress', progress }),
  }
  if (order.work.kind === 'compact') {
    const { segments, dimensions, metrics, ...counts } = await rewriteSegments(order.work.order, options)
    log('Rewrote segments', { segments: segments.length, ...counts })
    return { kind: 'done', segments, columns: { dimensions, metrics } }
  }
  const { payload, access, httpLimits } = order.work
  const { segments, ...counts } = await runIndexTask(parseIndexSpec(payload, access), {
    ...options,
    access,
    httpLimits,
  })
  log('Wrote segments', { segments: segments.length, ...counts })
  return { kind: 'done', segments }
}

process.once('message', async (order: PeonOrder) => {
  try {
    log('Task started', { task: order.taskId, attempt: order.attempt })
    await send(await work(order))
  } catch (error) {
    const failure = failureOf(error, order.workDirectory)
    const stack = failure ? {} : { stack: (error as Error).stack }
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
