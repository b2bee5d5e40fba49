import { type Queries, sql } from './database.ts'

/**
 * Deletes entries of the audit and compaction config histories that were written before `before` (epoch milliseconds of
 * the cluster time), oldest first, at most `limit` of each. Returns how many.
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

/** Deletes tasks that ended more than `keptMs` ago, oldest first, at most `limit`. Returns how many. */
export async function eraseFinishedTasks(queries: Queries, keptMs: number, limit: number): Promise<number> {
  const rows = await queries.query(sql`
    DELETE FROM tasks WHERE state IN ('SUCCESS', 'FAILED') AND id = ANY(ARRAY(
      SELECT id FROM tasks WHERE finished_at < now() - ${keptMs}::float8 * interval '1 millisecond'
      ORDER BY finished_at LIMIT ${limit}))
    RETURNING 1`)
  return rows.length
}

/** Returns the IDs of tasks that have not ended. */
export async function loadUnfinishedTaskIds(queries: Queries): Promise<string[]> {
  const rows = await queries.query<{ id: string }>(
    sql`SELECT id FROM tasks WHERE state IN ('PENDING', 'RUNNING')`,
  )
  return rows.map(({ id }) => id)
}
