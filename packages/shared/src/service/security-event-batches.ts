import { setTimeout as wait } from 'node:timers/promises'
import { describeError } from '@svc/domain/failure'
import { cutText, escapeControlCharacters } from '@svc/domain/validation'
import { type Database, type SecurityEventType, saveSecurityEvents } from '../postgres/index.ts'
import { type Clock, createTroubleLog, keepNewest, type Logger } from '../runtime/index.ts'

/** An event for the audit log. Its strings may contain anything that a caller sent. */
export interface SecurityEvent {
  readonly type: SecurityEventType
  readonly key: string
  readonly identity: string
  readonly ip: string
  readonly details: Readonly<Record<string, unknown>>
}

/** The subject of an event. Events of a group share a budget; beyond it, they are only counted. */
export type EventGroup = Pick<SecurityEvent, 'type' | 'key' | 'identity'>

/** Events that are being written to the store. */
export interface SecurityEventBatches {
  add(event: SecurityEvent, group: EventGroup): void
  /** Writes what is pending. Gives up after some seconds if the store is unavailable. */
  stop(): Promise<void>
}

interface Pending {
  event: SecurityEvent
  count: number
  dueAt: number
}

interface Budget {
  entries: number
  refilledAt: number
}

// The first event of a kind is written immediately. Equal ones within this time become one entry with a count.
const repeatMs = 60_000
const writePeriodMs = 500
const maxBatchEntries = 1000
// A group gets this many entries at once, and one more each second.
const maxGroupEntries = 60
const maxGroups = 10_000
const maxPending = 20_000
const maxTextLength = 256
const maxDetailLength = 1024
const maxStopMs = 3000
const stopRetryMs = 200

/** Starts collecting events and writing them in batches, in which no group crowds out another. */
export function startSecurityEventBatches(
  database: Database,
  clock: Clock,
  logger: Logger,
  server: () => string,
): SecurityEventBatches {
  const trouble = createTroubleLog(logger)
  const pending = new Map<string, Pending>()
  const budgets = new Map<string, Budget>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  function add(received: SecurityEvent, group: EventGroup): void {
    const event = storable(received)
    const overflow = storable({ ...group, ip: '', details: { others: true } })
    const isNew = !pending.has(keyOf(event))
    if (!isNew || (spend(keyOf(overflow)) && hasRoom())) count(event, 1)
    else if (pending.has(keyOf(overflow)) || hasRoom()) count(overflow, 1)
    else count({ ...overflow, key: '', identity: '' }, 1)
    timer ??= setTimeout(write, writePeriodMs).unref()
  }

  function count(event: SecurityEvent, times: number): void {
    const key = keyOf(event)
    const known = pending.get(key) ?? { event, count: 0, dueAt: clock.now() }
    known.event = event
    known.count += times
    pending.set(key, known)
  }

  /** Whether another kind of event may become pending. Kinds that have been written make room. */
  function hasRoom(): boolean {
    if (pending.size < maxPending) return true
    for (const [key, { count: unwritten }] of pending) if (unwritten === 0) pending.delete(key)
    return pending.size < maxPending
  }

  /** Takes an entry from the budget of a group; false if it is spent. */
  function spend(group: string): boolean {
    const now = clock.now()
    const budget = budgets.get(group) ?? { entries: maxGroupEntries, refilledAt: now }
    const seconds = Math.max(0, Math.floor((now - budget.refilledAt) / 1000))
    budget.entries = Math.min(maxGroupEntries, budget.entries + seconds)
    budget.refilledAt += seconds * 1000
    keepNewest(budgets, group, budget, maxGroups)
    if (budget.entries === 0) return false
    budget.entries -= 1
    return true
  }

  function takeDue(now: number): Pending[] {
    const due: Pending[] = []
    for (const [key, known] of [...pending]) {
      if (known.dueAt > now) continue
      if (known.count === 0) pending.delete(key)
      else due.push({ ...known })
      known.count = 0
      known.dueAt = now + repeatMs
    }
    return due
  }

  function release({ event, count: times }: Pending, now: number): void {
    count(event, times)
    ;(pending.get(keyOf(event)) as Pending).dueAt = now
  }

  async function writeDue(): Promise<void> {
    const now = clock.now()
    const due = takeDue(now)
    for (let start = 0; start < due.length; start += maxBatchEntries) {
      const batch = due.slice(start, start + maxBatchEntries)
      const entries = batch.map(({ event: { details, ...event }, count: times }) => ({
        ...event,
        author: '',
        comment: '',
        payload: JSON.stringify({ ...details, count: times, server: server() }),
      }))
      try {
        const refused = await saveSecurityEvents(database, entries, now)
        for (const entry of refused) logger.error('The metadata store rejected an audit entry', { ...entry })
      } catch (error) {
        for (const one of due.slice(start)) release(one, now)
        trouble.report('Failed to write audit entries; retrying', { error: describeError(error) })
        return
      }
    }
    trouble.over('Writing audit entries again')
  }

  /** Writes one batch at a time: a failed write returns its events before the next one starts. */
  function write(): void {
    timer = undefined
    writing = writing.then(writeDue).then(() => {
      if (pending.size > 0) timer ??= setTimeout(write, writePeriodMs).unref()
    })
  }

  const unwritten = () => [...pending.values()].filter(({ count: times }) => times > 0)

  async function stop(): Promise<void> {
    const deadline = performance.now() + maxStopMs
    await writing
    while (true) {
      clearTimeout(timer)
      for (const known of pending.values()) known.dueAt = Number.NEGATIVE_INFINITY
      await writeDue()
      if (unwritten().length === 0) return
      if (performance.now() >= deadline) break
      await wait(stopRetryMs)
    }
    const lost = unwritten().reduce((sum, { count: times }) => sum + times, 0)
    logger.error('Stopped without the audit entries that the metadata store did not accept', { events: lost })
  }

  return { add, stop }
}

const keyOf = ({ type, key, identity, ip, details }: SecurityEvent): string =>
  JSON.stringify([type, key, identity, ip, details.throttled === true])

/** Returns the event with its strings escaped and cut, so that the store accepts them and they mislead no reader. */
function storable({ type, key, identity, ip, details }: SecurityEvent): SecurityEvent {
  const isEscaped = [key, identity].some((text) => escapeControlCharacters(text) !== text)
  return {
    type,
    key: storableText(key, maxTextLength),
    identity: storableText(identity, maxTextLength),
    ip: storableText(ip, maxTextLength),
    details: {
      ...Object.fromEntries(
        Object.entries(details).map(([name, value]) => [
          name,
          typeof value === 'string' ? storableText(value, maxDetailLength) : value,
        ]),
      ),
      // Distinguishes a control character in a name from the characters of its escape sequence.
      ...(isEscaped ? { escaped: true } : {}),
    },
  }
}

// Cut before escaping too: escaping megabytes would be wasted work.
const storableText = (text: string, maxLength: number): string =>
  cutText(escapeControlCharacters(text.slice(0, maxLength + 1)), maxLength)
