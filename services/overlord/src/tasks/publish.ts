import { type NewChunk, type PublicationMode, planPublication } from '@svc/domain/publishing'
import { payloadOf } from '@svc/domain/segment'
import type { Interval } from '@svc/domain/time'
import type { IndexSpec, WrittenSegment } from '@svc/shared/ingestion'
import {
  copySegments,
  type Database,
  finishAttempt,
  loadOverlapping,
  loadPartitionFloors,
  lockDatasource,
  markUnused,
} from '@svc/shared/postgres'

/** The attempt that publishes. */
export interface PublishingAttempt {
  readonly taskId: string
  readonly attempt: number
  readonly progress: unknown
}

type Chunk = NewChunk & { readonly written: WrittenSegment }

/**
 * Publishes what a task has written and finishes the task, in one transaction or not at all. Answers false, and
 * publishes nothing, if the attempt is no longer the one that counts.
 */
export async function publish(
  database: Database,
  { taskId, attempt, progress }: PublishingAttempt,
  spec: IndexSpec,
  written: readonly WrittenSegment[],
  now: number,
): Promise<boolean> {
  const { dataSource } = spec
  const dropExisting = spec.dropExisting ? (spec.intervals ?? []) : []
  const mode: PublicationMode = spec.appendToExisting ? { kind: 'append' } : { kind: 'replace', dropExisting }
  const chunks: Chunk[] = written.map((one) => ({
    interval: one.interval,
    sizeBytes: one.sizeBytes,
    totalRows: one.totalRows,
    written: one,
  }))
  return await database.transaction(async (transaction) => {
    await lockDatasource(transaction, dataSource)
    if (
      !(await finishAttempt(transaction, taskId, attempt, { state: 'SUCCESS', errorMessage: null, progress }))
    )
      return false
    const touched = umbrella([...chunks.map(({ interval }) => interval), ...dropExisting])
    const existing = touched ? await loadOverlapping(transaction, dataSource, touched) : []
    const floors = touched ? await loadPartitionFloors(transaction, dataSource, touched) : []
    const plan = planPublication({ dataSource, chunks, existing, floors, mode, now })
    const rows = plan.added.map(({ segment, chunk: { written: one } }) => ({
      segment,
      payload: payloadOf(segment, {
        loadSpec: { type: 'local', path: one.path, checksum: one.checksum },
        dimensions: one.dimensions.join(','),
        metrics: one.metrics.join(','),
      }),
    }))
    if (rows.length > 0) await copySegments(transaction, rows, taskId, now)
    if (plan.unused.length > 0) await markUnused(transaction, plan.unused, now)
    return true
  })
}

function umbrella(intervals: readonly Interval[]): Interval | undefined {
  if (intervals.length === 0) return undefined
  return intervals.reduce((all, { start, end }) => ({
    start: Math.min(all.start, start),
    end: Math.max(all.end, end),
  }))
}
