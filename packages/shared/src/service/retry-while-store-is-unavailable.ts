import { describeError, Failure } from '@svc/domain/failure'
import { retry } from '../retry/index.ts'
import { createProblemLog, type Logger } from '../runtime/index.ts'

/**
 * Retries `work`, which must be idempotent, while the metadata store is unavailable. Throws any other error, and every
 * error once the server is stopping.
 */
export async function retryWhileStoreIsUnavailable<Result>(
  work: () => Promise<Result>,
  { logger, stopping, periodMs = 500 }: { logger: Logger; stopping: AbortSignal; periodMs?: number },
): Promise<Result> {
  const problemLog = createProblemLog(logger)
  return await retry(work, {
    isTemporary: (error) => error instanceof Failure && error.code === 'unavailable' && !stopping.aborted,
    delayMs: periodMs,
    onRetry: (error) =>
      problemLog.report('Lost the connection to the metadata store during startup; retrying', {
        error: describeError(error),
      }),
  })
}
