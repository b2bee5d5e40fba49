/** Runs work as soon as fewer than the max number of others are running, in the order of the calls. */
export type ConcurrencyLimit = <Result>(work: () => Promise<Result>) => Promise<Result>

/** Returns a function that runs at most `max` pieces of work at a time. */
export function createConcurrencyLimit(max: number): ConcurrencyLimit {
  let free = max
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}
