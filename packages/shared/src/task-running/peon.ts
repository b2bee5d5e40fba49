/**
 * The process of one task: it does the work and tells its parent; it knows neither store nor queue. Killing it at
 * any line leaves nothing but files that no segment names.
 */
import { describeError, Failure } from '@svc/domain/failure'
import { createLocalDeepStorage } from '../deep-storage/index.ts'
import { slowedBy } from '../faults/index.ts'
import { parseIndexSpec, runIndexTask } from '../ingestion/index.ts'
import { rewriteSegments } from '../rewriting/index.ts'
import type { PeonMessage, PeonOrder } from './peon-protocol.ts'

const send = (message: PeonMessage): Promise<void> =>
  new Promise((resolve) => {
    process.send?.(message, undefined, undefined, () => resolve())
  })

const log = (message: string, details: object = {}): void => {
  process.stdout.write(`${JSON.stringify({ timestamp: new Date().toISOString(), message, ...details })}\n`)
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
    log('Task has rewritten segments', { segments: segments.length, ...counts })
    return { kind: 'done', segments, columns: { dimensions, metrics } }
  }
  const { payload, access } = order.work
  const { segments, ...counts } = await runIndexTask(parseIndexSpec(payload, access), { ...options, access })
  log('Task has written its segments', { segments: segments.length, ...counts })
  return { kind: 'done', segments }
}

process.once('message', async (order: PeonOrder) => {
  try {
    log('Task started', { task: order.taskId, attempt: order.attempt })
    await send(await work(order))
  } catch (error) {
    const known = error instanceof Failure
    log('Task failed', { error: describeError(error), ...(known ? {} : { stack: (error as Error).stack }) })
    await send({
      kind: 'failed',
      message: known ? error.message : 'The task failed for an unexpected reason; its log tells more',
    })
  }
  process.disconnect?.()
})

// Without its parent nobody would publish what this process writes.
process.once('disconnect', () => process.exit())
