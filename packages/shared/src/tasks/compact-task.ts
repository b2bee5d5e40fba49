import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { compactTaskType as type } from '@svc/domain/compaction'
import { type RewriteOrder, rewriteSegments } from '../compaction/rewriting/index.ts'
import { newTaskId } from '../postgres/index.ts'
import { prepareCompaction, publishCompaction } from './compaction-work.ts'
import { type CompactSpec, compactTaskSchema, parseCompactSpec } from './parse-compact-spec.ts'
import type { RunningTask, TaskType, WorkEnd, Written } from './task-type.ts'

const noColumns = { dimensions: [], metrics: [] }

/** Compaction: rewrites the segments of an interval. */
export const compactTask: TaskType<CompactSpec, RewriteOrder> = {
  type,
  schema: compactTaskSchema,
  priority: 25,
  parse: parseCompactSpec,
  newId: ({ dataSource }) => newTaskId(type, dataSource),
  lock: ({ interval }) => interval,
  run: (spec, task) =>
    task.complete(async () => {
      const { database, clock } = task
      const prepared = await prepareCompaction(database, spec)
      const { work } = prepared
      const threads = Math.min(spec.slots, availableParallelism())
      return {
        work: () => (work.kind === 'virtual' ? workVirtually(task, work) : task.work(work.order, threads)),
        publish: (attempt, { segments, columns = noColumns }) =>
          publishCompaction(database, attempt, spec, prepared, { segments, columns }, clock.now()),
      }
    }),
  work: async (order, { log, ...options }) => {
    const { segments, dimensions, metrics, ...counts } = await rewriteSegments(order, options)
    log('Rewrote segments', { segments: segments.length, ...counts })
    return { segments, columns: { dimensions, metrics } }
  },
}

/** Waits for the configured duration. The result is known, so there is nothing to read or write. */
async function workVirtually(
  { settings, signal }: RunningTask,
  { segments }: Pick<Written, 'segments'>,
): Promise<WorkEnd> {
  const durationMs = settings.get('svc.simulation.compactionDuration')
  await delay(durationMs, undefined, { signal }).catch(() => undefined)
  if (signal.aborted) return { kind: 'died', how: 'ended' }
  return { kind: 'done', segments }
}
