/** Does identical work of concurrent requests only once. */
export interface EqualRequests<Result> {
  /**
   * Returns the result of work that has this key; starts the work if none is in progress. The signal that the work
   * receives is aborted when the signals of all its requests are.
   */
  join(
    key: string,
    leaving: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result>
}

interface WorkInProgress<Result> {
  readonly result: Promise<Result>
  readonly abandoned: AbortController
  requests: number
}

/** Creates shared work without any in progress. */
export function createEqualRequests<Result>(): EqualRequests<Result> {
  const inProgress = new Map<string, WorkInProgress<Result>>()

  function begin(key: string, work: (signal: AbortSignal) => Promise<Result>): WorkInProgress<Result> {
    const abandoned = new AbortController()
    const begun = { result: work(abandoned.signal), abandoned, requests: 0 }
    inProgress.set(key, begun)
    const forget = () => {
      if (inProgress.get(key) === begun) inProgress.delete(key)
    }
    begun.result.then(forget, forget)
    abandoned.signal.addEventListener('abort', forget, { once: true })
    return begun
  }

  return {
    join: (key, leaving, work) => {
      const joined = inProgress.get(key) ?? begin(key, work)
      joined.requests += 1
      const leave = () => {
        joined.requests -= 1
        if (joined.requests === 0) joined.abandoned.abort()
      }
      if (leaving?.aborted) leave()
      else leaving?.addEventListener('abort', leave, { once: true })
      return joined.result
    },
  }
}
