/**
 * Returns a function that runs `work`. A run in progress may be older than what a caller knows, so callers that arrive
 * meanwhile share the next one. A run starts after the turn of its first caller, so the other callers of this turn share it.
 */
export function sharedRuns(work: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  return () => {
    next ??= last
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return work()
      })
    last = next
    return next
  }
}
