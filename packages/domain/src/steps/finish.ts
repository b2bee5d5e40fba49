/** Runs a calculation to its end without pausing, and returns its result. */
export function finish<Result>(steps: Generator<undefined, Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
