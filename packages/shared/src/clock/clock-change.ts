import { invalidInput } from '@svc/domain/failure'
import {
  addPeriod,
  formatInstant,
  formatPeriod,
  lastTime,
  type Period,
  parseInstant,
  parsePeriod,
} from '@svc/domain/time'
import { refuse } from '@svc/domain/validation'
import { z } from 'zod'
import type { ClusterTime } from '../postgres/index.ts'
import { parserOf } from '../wire/index.ts'

/** What somebody wants of the clock: another time, a step ahead, another pace. */
export interface ClockChange {
  readonly now: number | undefined
  readonly advance: Period | undefined
  readonly rate: number | undefined
}

const fastestRate = 86_400
// A server may have read the old pace until so long ago in real time: a slower one begins where that has led.
const noticeMs = 250

const text = z.string({ error: 'a text' })
const changeSchema = z.strictObject({
  now: text.nullish(),
  advance: text.nullish(),
  rate: z
    .number({ error: `a number from 0 to ${fastestRate}` })
    .min(0, { error: `a number from 0 to ${fastestRate}` })
    .max(fastestRate, { error: `a number from 0 to ${fastestRate}` })
    .nullish(),
})

/** The change that a JSON body asks for; what is wrong with it is an invalidInput failure that names the field. */
export const parseClockChange = parserOf(
  changeSchema,
  { subject: 'The change of the clock' },
  ({ now, advance, rate }): ClockChange => {
    if (now == null && advance == null && rate == null)
      throw invalidInput('The change of the clock is empty; allowed are [now] or [advance], and [rate]')
    if (now != null && advance != null)
      throw refuse('advance', advance, 'either [now] or [advance], not both')
    return {
      now: now == null ? undefined : parseInstant(now, 'now'),
      advance: advance == null ? undefined : parsePeriod(advance, 'advance'),
      rate: rate ?? undefined,
    }
  },
)

/** The time after a change. A time before the present one, or beyond the last, is an invalidInput failure. */
export function decideClockChange(change: ClockChange, current: ClusterTime): ClusterTime {
  const rate = change.rate ?? current.rate
  const present = Math.min(current.time, lastTime)
  if (change.now !== undefined) {
    if (change.now < Math.floor(present) || change.now > lastTime) {
      const allowed = `a time from the present one [${formatInstant(Math.floor(present))}] to [${formatInstant(lastTime)}]: the clock never goes back`
      throw refuse('now', formatInstant(change.now), allowed)
    }
    return { time: Math.max(change.now, present), rate }
  }
  if (change.advance !== undefined) {
    const time = addPeriod(Math.floor(present), change.advance)
    if (time > lastTime) {
      const allowed = `a period that leads to [${formatInstant(lastTime)}] at the most`
      throw refuse('advance', formatPeriod(change.advance), allowed)
    }
    return { time: Math.max(time, present), rate }
  }
  const ahead = rate < current.rate ? current.rate * noticeMs : 0
  return { time: Math.min(present + ahead, lastTime), rate }
}
