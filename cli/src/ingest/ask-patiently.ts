import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '@svc/domain/failure'

const RETRY_MS = 200

/**
 * Asks again while what is asked is away, such as between two leaders, for at most `patienceMs`; then throws what the
 * last attempt threw. Only for what may be asked twice. An aborted signal ends the waiting with its reason.
 */
export async function askPatiently<T>(
  ask: () => Promise<T>,
  options: { readonly patienceMs: number; readonly signal?: AbortSignal | undefined },
): Promise<T> {
  const { patienceMs, signal } = options
  const deadline = performance.now() + patienceMs
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await ask()
    } catch (error) {
      const isAway = error instanceof Failure && error.code === 'unavailable'
      if (!isAway || performance.now() >= deadline) throw error
    }
    await delay(RETRY_MS)
  }
}
