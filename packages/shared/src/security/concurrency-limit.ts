import { unavailable } from '@svc/domain/failure'
import { createSlots, type Slots } from '../slots/index.ts'

/** Returns a function that limits the concurrent work of logins. It throws unavailable if too much work is waiting. */
export function createConcurrencyLimit(atOnce: number, maxWaiting: number): Slots {
  const slots = createSlots(atOnce)
  let pending = 0
  return async (work) => {
    if (pending >= atOnce + maxWaiting) throw unavailable('Too many logins are being verified; try again')
    pending += 1
    try {
      return await slots(work)
    } finally {
      pending -= 1
    }
  }
}
