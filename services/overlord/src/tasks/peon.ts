/**
 * The process of one task: it does the work and tells its parent; it knows neither store nor queue. Killing it at
 * any line leaves nothing but files that no segment names.
 */
import { describeError, Failure } from '@svc/domain/failure'
import { createLocalDeepStorage } from '@svc/shared/deep-storage'
import { parseIndexSpec, runIndexTask } from '@svc/shared/ingestion'
import type { PeonMessage, PeonOrder } from './peon-protocol.ts'

const send = (message: PeonMessage): Promise<void> =>
  new Promise((resolve) => {
    process.send?.(message, undefined, undefined, () => resolve())
  })

const log = (message: string, details: object = {}): void => {
  process.stdout.write(`${JSON.stringify({ timestamp: new Date().toISOString(), message, ...details })}\n`)
}

process.once('message', async (order: PeonOrder) => {
  try {
    log('Task started', { task: order.taskId, attempt: order.attempt })
    const result = await runIndexTask(parseIndexSpec(order.payload, order.access), {
      workDirectory: order.workDirectory,
      deepStorage: createLocalDeepStorage({ rootDirectory: order.storageDirectory }),
      pathPrefix: order.pathPrefix,
      access: order.access,
      memoryLimitBytes: order.memoryLimitBytes,
      threads: 1,
      onProgress: (progress) => void send({ kind: 'progress', progress }),
    })
    const { segments, ...counts } = result
    log('Task has written its segments', { segments: segments.length, ...counts })
    await send({ kind: 'done', segments })
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
