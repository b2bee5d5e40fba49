import { inspect } from 'node:util'

const POLL_MS = 50
const TIMEOUT_MS = 30_000

/** How long to wait and how often to look, in milliseconds. */
export interface Patience {
  readonly timeoutMs?: number
  readonly pollMs?: number
}

/**
 * Looks again and again until what is seen is right, and returns it. Throws when that takes longer than the patience,
 * with what was seen last; a look that throws is one that saw its error.
 */
export async function waitUntil<Seen>(
  description: string,
  look: () => Promise<Seen> | Seen,
  isRight: (seen: Seen) => boolean,
  { timeoutMs = TIMEOUT_MS, pollMs = POLL_MS }: Patience = {},
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
      throw new Error(`Not within ${timeoutMs} ms: ${description}. Seen last: ${shown}`)
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
