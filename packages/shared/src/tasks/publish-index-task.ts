import { type NewChunk, type PublicationMode, planPublication } from '@svc/domain/publishing'
import { enclosingInterval, formatInterval, type Interval } from '@svc/domain/time'
import type { IndexSpec, WrittenSegment } from '../ingestion/index.ts'
import {
  copySegments,
  type Database,
  finishAttempt,
  loadOverlapping,
  loadPartitionFloors,
  lockDatasource,
  markUnused,
  takeInterval,
} from '../postgres/index.ts'
import { NotTheAttempt, newRows, type PublishedState, type PublishingAttempt } from './published-rows.ts'

type Chunk = NewChunk & { readonly written: WrittenSegment }

/**
 * Publishes the segments of an index task and finishes it, in one transaction. Preempts tasks of a lower priority that
 * rewrite the same time, which fail; waits for tasks of the same or a higher priority.
 */
export async function publishIndex(
  database: Database,
  { taskId, attempt, priority, progress, storageType }: PublishingAttempt,
  spec: IndexSpec,
  written: readonly WrittenSegment[],
  now: number,
): Promise<PublishedState> {
  const { dataSource } = spec
  const dropExisting = spec.dropExisting ? (spec.intervals ?? []) : []
  const mode: PublicationMode = spec.appendToExisting ? { kind: 'append' } : { kind: 'replace', dropExisting }
  const chunks: Chunk[] = written.map((one) => ({
    interval: one.interval,
    sizeBytes: one.sizeBytes,
    totalRows: one.totalRows,
    written: one,
  }))
  const intervals = distinct([...chunks.map(({ interval }) => interval), ...dropExisting])
  return await database
    .transaction(async (transaction): Promise<PublishedState> => {
      await lockDatasource(transaction, dataSource)
      for (const interval of intervals) {
        const preempted = await takeInterval(transaction, taskId, { dataSource, interval, priority })
        // Nothing has been written: if one interval is not free, none is taken.
        if (preempted === undefined) throw new IntervalTaken()
      }
      const end = { state: 'SUCCESS', errorMessage: null, progress } as const
      if (!(await finishAttempt(transaction, taskId, attempt, end))) throw new NotTheAttempt()
      const touched = enclosingInterval(intervals)
      const existing = touched ? await loadOverlapping(transaction, dataSource, touched) : []
      const floors = touched ? await loadPartitionFloors(transaction, dataSource, touched) : []
      const plan = planPublication({ dataSource, chunks, existing, floors, mode, now })
      const rows = await newRows(transaction, plan.added, { loadType: storageType })
      if (rows.length > 0) await copySegments(transaction, rows, taskId, now)
      if (plan.unused.length > 0) await markUnused(transaction, plan.unused, { kind: 'task', taskId }, now)
      return 'published'
    })
    .catch((error: unknown): PublishedState => {
      if (error instanceof IntervalTaken) return 'intervalTaken'
      if (error instanceof NotTheAttempt) return 'notTheAttempt'
      throw error
    })
}

// Like NotTheAttempt, it rolls back the transaction, including preemptions.
class IntervalTaken extends Error {}

const distinct = (intervals: readonly Interval[]): Interval[] => [
  ...new Map(intervals.map((interval) => [formatInterval(interval), interval])).values(),
]
