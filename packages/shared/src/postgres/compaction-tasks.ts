import { type Queries, sql } from './database.ts'

/** A compact task as submitted, and how it ended; `finishedAt` in epoch milliseconds. */
export interface CompactTaskRecord {
  readonly id: string
  readonly dataSource: string
  readonly state: 'PENDING' | 'RUNNING' | 'SUCCESS' | 'FAILED'
  readonly finishedAt: number | null
  /** Milliseconds that it ran, so far if it has not ended. Null if it never started. */
  readonly durationMs: number | null
  /** As written in the task. */
  readonly interval: string | null
  /** What the scheduler recorded in the task; null if a user submitted it. */
  readonly origin: unknown
}

// Postgres cannot read anything from JSON whose strings contain NUL or half of a surrogate pair. Users may send that, for
// example in the context of a task, so such tasks are left out. An escape follows an even number of backslashes.
const isReadable = sql`payload::text !~ '(^|[^\\\\])(\\\\\\\\)*\\\\u(0000|[dD][89a-fA-F])'`

/** Returns the compact tasks that have not ended, and ended ones created after `since` (epoch milliseconds). */
export async function loadCompactTasks(queries: Queries, since: number): Promise<CompactTaskRecord[]> {
  const columns = sql`split_part(id, chr(1), 1) AS id, datasource AS "dataSource", state, finished_at AS "finishedAt",
    coalesce(duration_ms, (extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint) AS "durationMs",
    payload #>> '{ioConfig,inputSpec,interval}' AS interval, payload #> '{context,compaction}' AS origin`
  return await queries.query<CompactTaskRecord>(sql`
    SELECT ${columns} FROM tasks WHERE type = 'compact' AND state IN ('PENDING', 'RUNNING') AND ${isReadable}
    UNION ALL
    (SELECT ${columns} FROM tasks
     WHERE type = 'compact' AND state IN ('SUCCESS', 'FAILED') AND created_at > to_timestamp(${since / 1000})
       AND ${isReadable})`)
}
