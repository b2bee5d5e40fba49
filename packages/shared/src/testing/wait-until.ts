import { AssertionError } from 'node:assert'
import { inspect } from 'node:util'

/** Timeout and poll interval, in milliseconds. */
export interface WaitOptions {
  readonly timeoutMs?: number
  /** Default: short at first, and longer the longer it has waited already, because polling takes CPU time. */
  readonly pollMs?: number
}

const [minPollMs, maxPollMs] = [20, 100]

/**
 * Polls `look` until `isRight` accepts its result, and returns that. Throws an Error with the last result after the
 * timeout; an error thrown by `look` counts as its result, except a failed assertion, which is thrown at once.
 */
export async function waitUntil<Seen>(
  description: string,
  look: () => Promise<Seen> | Seen,
  isRight: (seen: Seen) => boolean = Boolean,
  { timeoutMs = 30_000, pollMs }: WaitOptions = {},
): Promise<Seen> {
  const startedAt = performance.now()
  for (;;) {
    let last: unknown
    try {
      const seen = await look()
      if (isRight(seen)) return seen
      last = seen
    } catch (error) {
      if (error instanceof AssertionError) throw error
      last = error
    }
    const waitedMs = performance.now() - startedAt
    if (waitedMs >= timeoutMs) {
      const shown = inspect(last, { depth: 6, breakLength: 120 }).slice(0, 4000)
      throw new Error(`Timed out after ${timeoutMs} ms, expected: ${description}. Last result: ${shown}`)
    }
    const nextMs = pollMs ?? Math.max(minPollMs, Math.min(maxPollMs, waitedMs / 10))
    await new Promise((resolve) => setTimeout(resolve, nextMs))
  }
}
