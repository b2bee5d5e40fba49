/** Returns a function that runs work with the same key sequentially, and work with different keys concurrently. */
export function createKeyedQueue(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const lasts = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const previous = lasts.get(key)
    const current = previous === undefined ? work() : previous.then(work, work)
    lasts.set(key, current)
    try {
      return await current
    } finally {
      if (lasts.get(key) === current) lasts.delete(key)
    }
  }
}
