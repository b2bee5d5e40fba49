import { eventKey, type SecurityEvent } from './security-event.ts'

/** An event, and how often it has occurred since it was last written. */
export interface PendingEvent {
  readonly event: SecurityEvent
  readonly count: number
}

/** Events that wait to be written; equal ones are counted. */
export interface PendingEvents {
  has(event: SecurityEvent): boolean
  /** Whether another kind of event may become pending. Kinds that have been written make room. */
  hasRoom(): boolean
  isEmpty(): boolean
  /** Returns the number of events that have not been written, equal ones included. */
  unwritten(): number
  add(event: SecurityEvent): void
  /** Takes the events that are due at a time. */
  takeDue(now: number): PendingEvent[]
  /** Takes back events that could not be written, and makes them due. */
  takeBack(events: readonly PendingEvent[], now: number): void
  /** Makes all events due. */
  makeDue(): void
}

// The first event of a kind is due immediately. Equal ones within this time become one entry with a count.
const repeatMs = 60_000
const maxPending = 20_000

/** Creates an empty collection of pending events. */
export function createPendingEvents(now: () => number): PendingEvents {
  const pending = new Map<string, { event: SecurityEvent; count: number; dueAt: number }>()

  function count(event: SecurityEvent, times: number) {
    const key = eventKey(event)
    const known = pending.get(key) ?? { event, count: 0, dueAt: now() }
    known.event = event
    known.count += times
    pending.set(key, known)
    return known
  }

  return {
    has: (event) => pending.has(eventKey(event)),
    hasRoom: () => {
      if (pending.size < maxPending) return true
      for (const [key, { count: unwritten }] of pending) if (unwritten === 0) pending.delete(key)
      return pending.size < maxPending
    },
    isEmpty: () => pending.size === 0,
    unwritten: () => [...pending.values()].reduce((sum, { count: times }) => sum + times, 0),
    add: (event) => {
      count(event, 1)
    },
    takeDue: (time) => {
      const due: PendingEvent[] = []
      for (const [key, known] of [...pending]) {
        if (known.dueAt > time) continue
        if (known.count === 0) pending.delete(key)
        else due.push({ event: known.event, count: known.count })
        known.count = 0
        known.dueAt = time + repeatMs
      }
      return due
    },
    takeBack: (events, time) => {
      for (const { event, count: times } of events) count(event, times).dueAt = time
    },
    makeDue: () => {
      for (const known of pending.values()) known.dueAt = Number.NEGATIVE_INFINITY
    },
  }
}
