import { invalidInput } from '@svc/domain/failure'
import {
  addPeriod,
  formatInstant,
  formatPeriod,
  lastTime,
  type Period,
  readInstant,
  readPeriod,
} from '@svc/domain/time'
import { converted, optional, readFields, readNumber, refuse } from '@svc/domain/validation'
import type { ClusterTime } from '../postgres/index.ts'

/** A requested change to the clock: a new time, a step forward, or a new rate. */
export interface ClockChange {
  readonly now: number | undefined
  readonly advance: Period | undefined
  readonly rate: number | undefined
}

const maxRate = 86_400
// A server can follow the old rate for this long (in real time) after a change. A slower rate starts from the time that
// such a server can show by then.
const noticeMs = 250

/** Reads a clock change from a JSON body. Throws an invalidInput Failure that names the invalid field. */
export const readClockChange = converted(
  readFields({
    now: optional(readInstant),
    advance: optional(readPeriod),
    rate: optional(readNumber(0, maxRate)),
  }),
  ({ now, advance, rate }): ClockChange => {
    if (now === null && advance === null && rate === null)
      throw invalidInput('The clock change is empty: expected [now], [advance], or [rate]')
    if (now !== null && advance !== null)
      throw refuse('advance', formatPeriod(advance), 'either [now] or [advance], not both')
    return {
      now: now ?? undefined,
      advance: advance ?? undefined,
      rate: rate ?? undefined,
    }
  },
)

/**
 * Returns the cluster time after a change. Throws an invalidInput Failure if that is before the current time or too
 * late.
 */
export function decideClockChange(change: ClockChange, current: ClusterTime): ClusterTime {
  const rate = change.rate ?? current.rate
  const present = Math.min(current.time, lastTime)
  if (change.now !== undefined) {
    if (change.now < Math.floor(present) || change.now > lastTime) {
      const allowed = `a time between the current time [${formatInstant(Math.floor(present))}] and [${formatInstant(lastTime)}]; the clock cannot go backward`
      throw refuse('now', formatInstant(change.now), allowed)
    }
    return { time: Math.max(change.now, present), rate }
  }
  if (change.advance !== undefined) {
    const time = addPeriod(Math.floor(present), change.advance)
    if (time > lastTime) {
      const allowed = `a period that ends at or before [${formatInstant(lastTime)}]`
      throw refuse('advance', formatPeriod(change.advance), allowed)
    }
    return { time: Math.max(time, present), rate }
  }
  const ahead = rate < current.rate ? current.rate * noticeMs : 0
  return { time: Math.min(present + ahead, lastTime), rate }
}
