import { type Queries, sql } from './database.ts'

/**
 * Erases entries of the histories (audit, and what compaction was configured to) that were written before `before`,
 * in epoch milliseconds of the cluster's time; the oldest first, at most `limit` of each. Returns how many.
 */
export async function eraseOldAudit(queries: Queries, before: number, limit: number): Promise<number> {
  const [erased] = await queries.query<{ count: number }>(sql`
    WITH old_audit AS (
      DELETE FROM audit WHERE id = ANY(ARRAY(
        SELECT id FROM audit WHERE created_at < to_timestamp(${before / 1000}) ORDER BY created_at LIMIT ${limit}))
      RETURNING 1
    ), old_history AS (
      DELETE FROM compaction_history WHERE id = ANY(ARRAY(
        SELECT id FROM compaction_history WHERE created_at < to_timestamp(${before / 1000})
        ORDER BY created_at LIMIT ${limit}))
      RETURNING 1
    )
    SELECT (SELECT count(*) FROM old_audit) + (SELECT count(*) FROM old_history) AS count`)
  return erased?.count ?? 0
}

/** Erases tasks that ended more than `keptMs` ago, those first that ended first, at most `limit`. Returns how many. */
export async function eraseFinishedTasks(queries: Queries, keptMs: number, limit: number): Promise<number> {
  const rows = await queries.query(sql`
    DELETE FROM tasks WHERE state IN ('SUCCESS', 'FAILED') AND id = ANY(ARRAY(
      SELECT id FROM tasks WHERE finished_at < now() - ${keptMs}::float8 * interval '1 millisecond'
      ORDER BY finished_at LIMIT ${limit}))
    RETURNING 1`)
  return rows.length
}

/** The ids of tasks that are not over. */
export async function loadUnfinishedTaskIds(queries: Queries): Promise<string[]> {
  const rows = await queries.query<{ id: string }>(
    sql`SELECT id FROM tasks WHERE state IN ('PENDING', 'RUNNING')`,
  )
  return rows.map(({ id }) => id)
}
