import { unavailable } from '@svc/domain/failure'

/** Returns a function that limits the concurrent work of logins. It throws unavailable if too much work is waiting. */
export function createConcurrencyLimit(
  atOnce: number,
  maxWaiting: number,
): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= maxWaiting) throw unavailable('Too many logins are being verified; try again')
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
