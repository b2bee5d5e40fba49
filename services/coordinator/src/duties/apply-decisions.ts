import { setImmediate } from 'node:timers/promises'
import type { SegmentTable } from '@svc/domain/inventory'
import type { RetentionPlan, RetentionRun } from '@svc/domain/retention'
import { defaultRulesName } from '@svc/domain/rules'
import { assertLeads, type Database, lockRules, markUnused, type RulesSnapshot } from '@svc/shared/postgres'
import type { Clock } from '@svc/shared/runtime'
import type {
  QueuedRequests,
  RequestedCopy,
  RequestedLoad,
  RequestStamp,
  Requests,
} from './queue-requests.ts'
import { type UnusedSegment, withCauses } from './unused-causes.ts'

/** What a run has done so far. */
export interface DoneInRun {
  loads: number
  drops: number
  markedUnused: number
}

/** The applied decisions of a run. */
interface AppliedDecisions {
  readonly done: DoneInRun
  /** Number of overshadowed segments that a later run marks as unused. */
  readonly waitingOvershadowed: number
}

/** Dependencies of the application of decisions. */
interface DecisionsInput {
  readonly database: Database
  readonly clock: Clock
  readonly table: SegmentTable
  /** The rules of the run. */
  readonly rules: RulesSnapshot
  /** Queues requests for their servers. */
  queue(requests: Requests): Promise<QueuedRequests>
}

// Segments per part, which takes a few milliseconds. Other requests run between parts.
const partSize = 2000
// Requests to collect before sending them. A higher number fills the batches of each server better.
const requestsAtOnce = 20_000
// Rows per statement. A transaction must end well within the lease.
const markBatchSize = 5000

/**
 * Applies the decisions of a run in parts: marks segments as unused, then requests loads and drops. `names` has the names
 * of the servers at their numbers. Returns what was done, or undefined if this server lost leadership in between.
 */
export async function applyDecisions(
  { database, clock, table, rules, queue }: DecisionsInput,
  run: RetentionRun,
  names: readonly (string | undefined)[],
  { term, isLeader }: RequestStamp,
  takesOvershadowed: boolean,
): Promise<AppliedDecisions | undefined> {
  const done = { loads: 0, drops: 0, markedUnused: 0 }
  let waitingOvershadowed = 0
  let requests = noRequests()
  const sendRequests = async (): Promise<void> => {
    const sent = requests
    requests = noRequests()
    addQueued(done, await queue(sent))
  }
  for (let part = run.next(partSize); part !== undefined; part = run.next(partSize)) {
    // Before anything waits, because numbers of rows and servers may be reused while this duty waits.
    const unused = unusedIn(table, part, rules, takesOvershadowed)
    if (!takesOvershadowed) waitingOvershadowed += overshadowedCount(part)
    const loads = copiesOf(table, part.loads, names)
    const drops = copiesOf(table, part.drops, names)
    done.markedUnused += await markAll(database, unused, term, clock)
    // Push one by one, because a broadcast rule may produce more requests than a call can take as arguments.
    for (const load of loads) requests.loads.push(load)
    for (const drop of drops) requests.drops.push(drop)
    if (requests.loads.length + requests.drops.length >= requestsAtOnce) await sendRequests()
    await setImmediate()
    if (!isLeader()) return undefined
  }
  await sendRequests()
  return { done, waitingOvershadowed }
}

/** Returns replicas with segment IDs and server names. `names` has the names of the servers at their numbers. */
export const copiesOf = (
  table: SegmentTable,
  { rows, servers }: RetentionPlan['loads'],
  names: readonly (string | undefined)[],
): RequestedLoad[] =>
  rows.map((row, index) => ({
    server: names[servers[index] as number] as string,
    segmentId: table.idOf(row),
    sizeBytes: table.sizeOf[row] as number,
  }))

/** Adds queued requests to what a run has done. */
export function addQueued(done: DoneInRun, { loads, drops }: QueuedRequests): void {
  done.loads += loads
  done.drops += drops
}

const unusedIn = (
  table: SegmentTable,
  { markUnused }: RetentionPlan,
  rules: RulesSnapshot,
  takesOvershadowed: boolean,
): UnusedSegment[] =>
  markUnused
    .filter(({ reason }) => takesOvershadowed || reason !== 'overshadowed')
    .flatMap((unused) => withCauses(table, unused, rules))

const overshadowedCount = ({ markUnused }: RetentionPlan): number =>
  markUnused.reduce((sum, { reason, rows }) => (reason === 'overshadowed' ? sum + rows.length : sum), 0)

async function markAll(
  database: Database,
  segments: readonly UnusedSegment[],
  term: number,
  clock: Clock,
): Promise<number> {
  let marked = 0
  for (let start = 0; start < segments.length; start += markBatchSize) {
    const batch = segments.slice(start, start + markBatchSize)
    marked += await database.transaction(async (transaction) => {
      await assertLeads(transaction, 'coordinator', term)
      // After a rule change, nothing is marked because of the replaced rules, so that the change can be undone.
      const names = [...new Set(batch.map(({ dataSource }) => dataSource)), defaultRulesName]
      const auditIds = await lockRules(transaction, names)
      const valid = batch.filter(
        ({ dataSource, cause }) =>
          cause.kind !== 'dropRule' ||
          (cause.rulesId === (auditIds.get(dataSource) ?? 0) &&
            cause.defaultRulesId === (auditIds.get(defaultRulesName) ?? 0)),
      )
      return await markUnused(
        transaction,
        valid.map(({ id }) => id),
        valid.map(({ cause }) => cause),
        clock.now(),
      )
    })
  }
  return marked
}

const noRequests = (): { loads: RequestedLoad[]; drops: RequestedCopy[] } => ({ loads: [], drops: [] })
