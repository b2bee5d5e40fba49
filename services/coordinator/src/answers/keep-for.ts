/**
 * Returns a function that loads an answer, and returns it to all callers until `ms` milliseconds after it was loaded. A failure
 * is not kept.
 */
export function keepFor<Answer>(ms: number, load: () => Promise<Answer>): () => Promise<Answer> {
  let kept: { readonly answer: Promise<Answer>; untilMs: number } | undefined
  return () => {
    if (kept !== undefined && performance.now() < kept.untilMs) return kept.answer
    const loading = { answer: load(), untilMs: Number.POSITIVE_INFINITY }
    kept = loading
    loading.answer.then(
      () => {
        loading.untilMs = performance.now() + ms
      },
      () => {
        loading.untilMs = 0
      },
    )
    return loading.answer
  }
}
