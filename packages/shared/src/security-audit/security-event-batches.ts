import { setTimeout as wait } from 'node:timers/promises'
import { describeError } from '@svc/domain/failure'
import { type Database, saveSecurityEvents } from '../postgres/index.ts'
import { type Clock, createProblemLog, type Logger } from '../runtime/index.ts'
import { createEventBudgets } from './event-budgets.ts'
import { createPendingEvents, type PendingEvent, type PendingEvents } from './pending-events.ts'
import { type EventGroup, eventKey, type SecurityEvent, storable } from './security-event.ts'

/** Events that are being written to the store. */
export interface SecurityEventBatches {
  add(event: SecurityEvent, group: EventGroup): void
  /** Writes what is pending. Gives up after some seconds if the store is unavailable. Later events begin again. */
  stop(): Promise<void>
}

const writePeriodMs = 500
const maxBatchEntries = 1000
const maxStopMs = 3000
const stopRetryMs = 200

/** Starts collecting events and writing them in batches, in which no group crowds out another. */
export function startSecurityEventBatches(
  database: Database,
  clock: Clock,
  logger: Logger,
  server: () => string,
): SecurityEventBatches {
  const pending = createPendingEvents(clock.now)
  const spend = createEventBudgets(clock.now)
  const writeDue = eventWriter(pending, database, clock, logger, server)
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  function add(received: SecurityEvent, group: EventGroup): void {
    const event = storable(received)
    const overflow = storable({ ...group, ip: '', details: { others: true } })
    const isNew = !pending.has(event)
    if (!isNew || (spend(eventKey(overflow)) && pending.hasRoom())) pending.add(event)
    else if (pending.has(overflow) || pending.hasRoom()) pending.add(overflow)
    else pending.add({ ...overflow, key: '', identity: '' })
    timer ??= setTimeout(write, writePeriodMs).unref()
  }

  /** Writes one batch at a time: a failed write returns its events before the next one starts. */
  function write(): void {
    timer = undefined
    writing = writing.then(writeDue).then(() => {
      if (!pending.isEmpty()) timer ??= setTimeout(write, writePeriodMs).unref()
    })
  }

  async function stop(): Promise<void> {
    const deadline = performance.now() + maxStopMs
    await writing
    while (true) {
      clearTimeout(timer)
      timer = undefined
      pending.makeDue()
      await writeDue()
      if (pending.unwritten() === 0) return
      if (performance.now() >= deadline) break
      await wait(stopRetryMs)
    }
    logger.error('Stopped before the metadata store accepted all audit entries', {
      events: pending.unwritten(),
    })
  }

  return { add, stop }
}

/** Returns a function that writes all events that are due. If the store is unavailable, they remain pending. */
function eventWriter(
  pending: PendingEvents,
  database: Database,
  clock: Clock,
  logger: Logger,
  server: () => string,
): () => Promise<void> {
  const problemLog = createProblemLog(logger)
  const entryOf = ({ event: { details, ...event }, count }: PendingEvent) => ({
    ...event,
    author: '',
    comment: '',
    payload: JSON.stringify({ ...details, count, server: server() }),
  })
  return async () => {
    const now = clock.now()
    const due = pending.takeDue(now)
    for (let start = 0; start < due.length; start += maxBatchEntries) {
      const entries = due.slice(start, start + maxBatchEntries).map(entryOf)
      try {
        const refused = await saveSecurityEvents(database, entries, now)
        for (const entry of refused) logger.error('The metadata store rejected an audit entry', { ...entry })
      } catch (error) {
        pending.takeBack(due.slice(start), now)
        problemLog.report('Failed to write audit entries; retrying', { error: describeError(error) })
        return
      }
    }
    problemLog.over('Resumed writing audit entries')
  }
}
