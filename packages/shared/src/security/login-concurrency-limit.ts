import { unavailable } from '@svc/domain/failure'
import { type ConcurrencyLimit, createConcurrencyLimit } from '../concurrency-limit/index.ts'

/** Returns a function that limits the concurrent work of logins. It throws unavailable if too much work is waiting. */
export function createLoginConcurrencyLimit(atOnce: number, maxWaiting: number): ConcurrencyLimit {
  const limit = createConcurrencyLimit(atOnce)
  let pending = 0
  return async (work) => {
    if (pending >= atOnce + maxWaiting) throw unavailable('Too many logins are being verified; try again')
    pending += 1
    try {
      return await limit(work)
    } finally {
      pending -= 1
    }
  }
}
