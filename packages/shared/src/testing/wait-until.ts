import { inspect } from 'node:util'

const pollMs = 10

/** Polls `look` until `isRight` accepts its result, and returns that. Throws with the last result after `timeoutMs`. */
export async function waitUntil<Seen>(
  description: string,
  look: () => Promise<Seen> | Seen,
  isRight: (seen: Seen) => boolean = Boolean,
  timeoutMs = 10_000,
): Promise<Seen> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const seen = await look()
    if (isRight(seen)) return seen
    if (performance.now() >= deadline) {
      throw new Error(
        `Timed out after ${timeoutMs} ms: ${description}; last result: ${inspect(seen, { depth: 5 })}`,
      )
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
