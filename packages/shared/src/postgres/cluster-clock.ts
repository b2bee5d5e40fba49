import { type AuditEntry, saveAudit } from './audit.ts'
import { type Database, type Queries, sql } from './database.ts'

/** The notification channel for changes to the cluster clock. */
export const clusterClockChannel = 'svc_cluster_clock'

/** The cluster time in epoch milliseconds, and its speed relative to real time. */
export interface ClusterTime {
  readonly time: number
  readonly rate: number
}

const auditType = 'simulation.clock'

// Until it is changed for the first time, the cluster clock is the clock of Postgres.
const currentTime = sql`
  SELECT coalesce(time_ms + rate * 1000 * greatest(extract(epoch FROM store.now - set_at), 0),
      1000 * extract(epoch FROM store.now))::float8 AS time,
    coalesce(rate, 1) AS rate, store.now::text AS "readAt"
  FROM (SELECT clock_timestamp() AS now) store LEFT JOIN cluster_clock ON true`

/** Returns the current cluster time. */
export async function loadClusterTime(queries: Queries): Promise<ClusterTime> {
  const [{ time, rate }] = (await queries.query<ClusterTime>(currentTime)) as [ClusterTime]
  return { time, rate }
}

/**
 * Changes the clock to what `decide` returns for its current state, with an audit entry at the new time, and returns
 * the new state. If `decide` throws, the clock does not change. The new time counts from when the old one was read.
 */
export async function moveClusterTime(
  database: Database,
  decide: (current: ClusterTime) => ClusterTime,
  audit: Omit<AuditEntry, 'type' | 'key' | 'payload'>,
): Promise<ClusterTime> {
  return await database.transaction(async (transaction) => {
    await transaction.query(sql`LOCK TABLE cluster_clock IN EXCLUSIVE MODE`)
    const [current] = (await transaction.query<ClusterTime & { readAt: string }>(currentTime)) as [
      ClusterTime & { readAt: string },
    ]
    const next = decide(current)
    await transaction.query(sql`
      INSERT INTO cluster_clock (time_ms, rate, set_at)
      VALUES (${next.time}, ${next.rate}, ${current.readAt}::timestamptz)
      ON CONFLICT (singleton) DO UPDATE SET time_ms = excluded.time_ms, rate = excluded.rate, set_at = excluded.set_at`)
    const payload = JSON.stringify({ now: new Date(next.time).toISOString(), rate: next.rate })
    await saveAudit(transaction, { ...audit, type: auditType, key: 'clock', payload }, next.time)
    await transaction.query(sql`SELECT pg_notify(${clusterClockChannel}, '')`)
    return next
  })
}
