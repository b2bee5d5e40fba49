import { invalidInput } from '@svc/domain/failure'
import { bound } from './bound.ts'

/** A time zone as SQL: timestamps stand for instants in UTC, or for what clocks of the zone show. */
export interface Zone {
  readonly name: string
  /** What clocks show at an instant. */
  shown(instant: string): string
  /** The instant at which clocks show a time; the first of two, and where they skip it, that of the time before. */
  firstInstant(shown: string): string
  /** The last instant, no later than another, at which clocks show a time. */
  instantBefore(shown: string, other: string): string
}

const utc: Zone = {
  name: 'UTC',
  shown: (instant) => instant,
  firstInstant: (shown) => shown,
  instantBefore: (shown) => shown,
}

const offsetForm = /^([+-])(\d{2}):(\d{2})$/
const nameForm = /^[A-Za-z][\w+-]*(\/[\w+-]+)*$/
const hour = "INTERVAL '1' HOUR"

/** The zone of a name such as `America/Los_Angeles`, or of an offset such as `+05:30`. Anything else is an invalidInput failure. */
export function readZone(text: string): Zone {
  if (text === 'UTC' || text === 'Etc/UTC') return { ...utc, name: text }
  const offset = offsetForm.exec(text)
  if (offset) {
    const [, sign, hours, minutes] = offset
    const interval = `INTERVAL (${sign}${Number(hours) * 60 + Number(minutes)}) MINUTE`
    const instant = (shown: string) => `((${shown}) - ${interval})`
    return {
      name: text,
      shown: (at) => `((${at}) + ${interval})`,
      firstInstant: instant,
      instantBefore: instant,
    }
  }
  if (!nameForm.test(text) || !isKnown(text))
    throw invalidInput(
      `Invalid value [${text}] for [time zone]: expected the name of one, such as [America/Los_Angeles], or [+05:30]`,
    )
  const shown = (instant: string) => `timezone('${text}', timezone('UTC', ${instant}))`
  // Of two instants DuckDB takes the second one; zones that go back go back by an hour.
  const last = (time: string) => `timezone('UTC', timezone('${text}', ${time}))`
  return {
    name: text,
    shown,
    firstInstant: (time) =>
      bound('time', time, (value) =>
        bound(
          'last',
          last(value),
          (found) =>
            `CASE WHEN ${shown(`${found} - ${hour}`)} = ${value} THEN ${found} - ${hour} ELSE ${found} END`,
        ),
      ),
    instantBefore: (time, other) =>
      bound(
        'last',
        last(time),
        (found) => `CASE WHEN ${found} > (${other}) THEN ${found} - ${hour} ELSE ${found} END`,
      ),
  }
}

function isKnown(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
