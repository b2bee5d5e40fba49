import { inspect } from 'node:util'

const defaultPollMs = 50
const defaultTimeoutMs = 30_000

/** Timeout and poll interval, in milliseconds. */
export interface WaitOptions {
  readonly timeoutMs?: number
  readonly pollMs?: number
}

/**
 * Polls until a value is right, and returns it. Throws an Error with the last value after the timeout; an
 * error thrown by the poll counts as its value.
 */
export async function waitUntil<Seen>(
  description: string,
  look: () => Promise<Seen> | Seen,
  isRight: (seen: Seen) => boolean,
  { timeoutMs = defaultTimeoutMs, pollMs = defaultPollMs }: WaitOptions = {},
): Promise<Seen> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    let last: unknown
    try {
      const seen = await look()
      if (isRight(seen)) return seen
      last = seen
    } catch (error) {
      last = error
    }
    if (performance.now() >= deadline) {
      const shown = inspect(last, { depth: 6, breakLength: 120 }).slice(0, 4000)
      throw new Error(`Timed out after ${timeoutMs} ms, expected: ${description}. Last value: ${shown}`)
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
