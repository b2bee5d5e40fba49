import { setTimeout as delay } from 'node:timers/promises'
import { describeError, Failure } from '@svc/domain/failure'
import { createTroubleLog, type Logger } from '../runtime/index.ts'

/**
 * Does something again and again that needs the metadata store, and that may run twice, until the store is there. Any
 * failure but its being away is thrown, and so is that once the server is stopping.
 */
export async function retryWhileStoreIsAway<Result>(
  work: () => Promise<Result>,
  { logger, stopping, periodMs = 500 }: { logger: Logger; stopping: AbortSignal; periodMs?: number },
): Promise<Result> {
  const trouble = createTroubleLog(logger)
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'unavailable' || stopping.aborted) throw error
      trouble.tell('The metadata store went away during the start', { error: describeError(error) })
    }
    await delay(periodMs)
  }
}
