import { Failure } from '@svc/domain/failure'
import pRetry from 'p-retry'

/** When to retry, and for how long. */
export interface RetryOptions {
  /** Whether a retry may help. Other errors are thrown at once. Default: whether it is a Failure that is unavailable or timed out. */
  readonly isTemporary?: (error: Error) => boolean
  readonly delayMs?: number
  /** Each delay is 5% longer than the one before, up to this. Default: `delayMs`, so delays do not grow. */
  readonly maxDelayMs?: number
  /** Default: no limit. */
  readonly timeoutMs?: number
  /** Default: no limit. */
  readonly maxAttempts?: number
  /** When aborted, no further attempt starts, and its reason is thrown. */
  readonly signal?: AbortSignal | undefined
  /** Called before each retry. */
  readonly onRetry?: (error: Error) => void
}

const isAboutAvailability = (error: Error): boolean =>
  error instanceof Failure && (error.code === 'unavailable' || error.code === 'timedOut')

/**
 * Repeats `work`, which must be idempotent, until it succeeds. Throws the error of the last attempt if that is not
 * temporary, or after the timeout or the last attempt.
 */
export async function retry<Result>(
  work: () => Promise<Result>,
  {
    isTemporary = isAboutAvailability,
    delayMs = 200,
    maxDelayMs = delayMs,
    timeoutMs = Number.POSITIVE_INFINITY,
    maxAttempts = Number.POSITIVE_INFINITY,
    signal,
    onRetry,
  }: RetryOptions = {},
): Promise<Result> {
  // The library would also discard the result of an attempt that succeeds after the signal.
  const attempt = async (): Promise<Result> => {
    signal?.throwIfAborted()
    return await work()
  }
  return await pRetry(attempt, {
    retries: maxAttempts - 1,
    factor: 1.05,
    minTimeout: delayMs,
    maxTimeout: maxDelayMs,
    maxRetryTime: timeoutMs,
    shouldRetry: ({ error }) => {
      if (!isTemporary(error)) return false
      onRetry?.(error)
      return true
    },
  })
}
