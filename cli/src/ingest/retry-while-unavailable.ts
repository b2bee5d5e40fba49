import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '@svc/domain/failure'

const retryMs = 200

/**
 * Retries an idempotent request while the service is unavailable or does not answer in time, for example between two leaders. After `timeoutMs`,
 * throws the error of the last attempt. Throws the reason of an aborted signal.
 */
export async function retryWhileUnavailable<T>(
  request: () => Promise<T>,
  options: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<T> {
  const { timeoutMs, signal } = options
  const deadline = performance.now() + timeoutMs
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await request()
    } catch (error) {
      const isUnavailable =
        error instanceof Failure && (error.code === 'unavailable' || error.code === 'timedOut')
      if (!isUnavailable || performance.now() >= deadline) throw error
    }
    await delay(retryMs)
  }
}
