import { compactTaskType } from '@svc/domain/compaction'
import { type Queries, sql } from './database.ts'

/** A compact task as submitted, and how it ended; `finishedAt` in epoch milliseconds. */
export interface CompactTaskRecord {
  readonly id: string
  readonly dataSource: string
  readonly state: 'PENDING' | 'RUNNING' | 'SUCCESS' | 'FAILED'
  readonly finishedAt: number | null
  /** Milliseconds from its submission to its last start, so far if it has not started. */
  readonly waitMs: number
  /** Milliseconds that it ran, so far if it has not ended. Null if it never started. */
  readonly durationMs: number | null
  /** As written in the task. */
  readonly interval: string | null
  /** What the scheduler recorded in the task; null if a user submitted it. */
  readonly origin: unknown
}

/** What is stored of a compact task apart from its payload, which may be long; null for tasks of other types. */
export interface CompactTaskColumns {
  readonly interval: string | null
  /** JSON. */
  readonly origin: string | null
}

/** Returns what planning compaction needs of a task. */
export function compactTaskColumns(type: string, payload: unknown): CompactTaskColumns {
  if (type !== compactTaskType) return { interval: null, origin: null }
  const { ioConfig, context } = payload as {
    readonly ioConfig?: { readonly inputSpec?: { readonly interval?: unknown } }
    readonly context?: { readonly compaction?: object } | null
  }
  const interval = ioConfig?.inputSpec?.interval
  const origin = context?.compaction
  return {
    // Postgres has no text with NUL, which is not an interval.
    interval: typeof interval === 'string' && !interval.includes('\0') ? interval : null,
    origin: origin === undefined ? null : JSON.stringify(origin),
  }
}

/** Returns the compact tasks that have not ended, and ended ones created after `since` (epoch milliseconds). */
export async function loadCompactTasks(queries: Queries, since: number): Promise<CompactTaskRecord[]> {
  const columns = sql`split_part(id, chr(1), 1) AS id, datasource AS "dataSource", state, finished_at AS "finishedAt",
    coalesce(duration_ms, (extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint) AS "durationMs",
    (extract(epoch FROM coalesce(started_at, finished_at, clock_timestamp()) - created_at) * 1000)::bigint AS "waitMs",
    compaction_interval AS interval, compaction_origin AS origin`
  return await queries.query<CompactTaskRecord>(sql`
    SELECT ${columns} FROM tasks WHERE type = ${compactTaskType} AND state IN ('PENDING', 'RUNNING')
    UNION ALL
    SELECT ${columns} FROM tasks
    WHERE type = ${compactTaskType} AND state IN ('SUCCESS', 'FAILED') AND created_at > to_timestamp(${since / 1000})`)
}
