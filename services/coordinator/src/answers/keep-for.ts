/**
 * Returns a function that loads an answer, and returns it to all callers until `ms` milliseconds after it was loaded. If
 * `isSame` returns false for the arguments of two calls, the answer is loaded again. A failure is not kept.
 */
export function keepFor<Answer, Given = void>(
  ms: number,
  load: (given: Given) => Promise<Answer>,
  isSame: (one: Given, other: Given) => boolean = () => true,
): (given: Given) => Promise<Answer> {
  let kept: { readonly given: Given; readonly answer: Promise<Answer>; untilMs: number } | undefined
  return (given) => {
    if (kept !== undefined && performance.now() < kept.untilMs && isSame(kept.given, given))
      return kept.answer
    const loading = { given, answer: load(given), untilMs: Number.POSITIVE_INFINITY }
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
