import { inspect } from 'node:util'

const pollMs = 10

/** Looks again and again until what is seen is right, and answers it; throws with what was seen last after `timeoutMs`. */
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
      throw new Error(`Not within ${timeoutMs} ms: ${description}; seen last: ${inspect(seen, { depth: 5 })}`)
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
