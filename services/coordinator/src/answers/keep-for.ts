/**
 * Returns a function that loads an answer at most once in `ms` milliseconds, and returns it to all callers in between. A
 * failure is not kept.
 */
export function keepFor<Answer>(ms: number, load: () => Promise<Answer>): () => Promise<Answer> {
  let kept: Promise<Answer> | undefined
  let untilMs = 0
  return () => {
    if (kept !== undefined && performance.now() < untilMs) return kept
    untilMs = performance.now() + ms
    const loading = load()
    kept = loading
    loading.catch(() => {
      if (kept === loading) kept = undefined
    })
    return loading
  }
}
