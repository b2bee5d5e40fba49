/**
 * Returns a function that runs `work`. A run in progress may be older than what a caller knows, so callers that arrive
 * meanwhile share the next one.
 */
export function sharedRuns(work: () => Promise<void>): () => Promise<void> {
  let inProgress: Promise<void> | undefined
  let next: Promise<void> | undefined
  const start = (): Promise<void> => {
    const started = work().finally(() => {
      if (inProgress === started) inProgress = undefined
    })
    inProgress = started
    return started
  }
  return () => {
    if (!inProgress) return start()
    next ??= inProgress
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return start()
      })
    return next
  }
}
