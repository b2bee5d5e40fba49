import { invalidInput } from '@svc/domain/failure'
import { bound } from './bound.ts'

/** A time zone in SQL. Timestamps are either instants (UTC) or local times in the zone. */
export interface Zone {
  readonly name: string
  /** Returns SQL for the local time at an instant. */
  shown(instant: string): string
  /**
   * Returns SQL for the instant of a local time: the first one if there are two; if the zone skips it, that of the time
   * before.
   */
  firstInstant(shown: string): string
  /** Returns SQL for the last instant of a local time that is not later than another instant. */
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

/**
 * Returns the time zone for a name such as `America/Los_Angeles` or an offset such as `+05:30`. Throws an invalidInput
 * Failure otherwise.
 */
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
      `Invalid value [${text}] for [time zone]: expected a name such as [America/Los_Angeles] or an offset such as [+05:30]`,
    )
  const shown = (instant: string) => `timezone('${text}', timezone('UTC', ${instant}))`
  // If a local time has two instants, DuckDB returns the second one. Clocks are set back by one hour.
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
