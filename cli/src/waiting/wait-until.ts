import { setTimeout as delay } from 'node:timers/promises'
import { Failure, timedOut } from '@svc/domain/failure'
import { growingDelay } from '@svc/shared/runtime'
import { isPermanent } from '../client/index.ts'
import { formatSeconds } from '../terminal/index.ts'

// Right after a start, a state is often reached within milliseconds; later, frequent requests would only cost time.
const firstPollMs = 20
const defaultMaxPollMs = 500

/** Returns what a cluster still lacks, one phrase each; none once it has reached a state. */
export type Condition = () => Promise<readonly string[]>

/**
 * Waits until a condition holds, and returns the milliseconds. Continues while the cluster is unavailable. Throws timedOut
 * with what is lacking after `timeoutMs`, the reason of an aborted signal, and unavailable if the host is unknown or its
 * certificate is not trusted.
 */
export async function waitUntil(
  condition: Condition,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal; readonly maxPollMs?: number },
): Promise<number> {
  const { timeoutMs, signal, maxPollMs = defaultMaxPollMs } = options
  const startedAt = performance.now()
  const pollDelay = growingDelay(firstPollMs, maxPollMs)
  for (;;) {
    signal.throwIfAborted()
    const lacking = await condition().catch(lackingOf)
    const waitedMs = performance.now() - startedAt
    if (lacking.length === 0) return waitedMs
    if (waitedMs >= timeoutMs)
      throw timedOut(`Timed out after ${formatSeconds(timeoutMs)}: ${lacking.join('; ')}`)
    await delay(Math.min(pollDelay.next(), timeoutMs - waitedMs), undefined, { signal }).catch(() =>
      signal.throwIfAborted(),
    )
  }
}

function lackingOf(error: unknown): readonly string[] {
  if (
    error instanceof Failure &&
    !isPermanent(error) &&
    (error.code === 'unavailable' || error.code === 'timedOut')
  )
    return [error.message]
  throw error
}
