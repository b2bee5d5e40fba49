import { unavailable } from '@svc/domain/failure'
import type { Sql } from 'sql-template-tag'
import { type Queries, sql } from './database.ts'

/** The leader of a role: its address and its fencing token. */
export interface Lease {
  readonly role: string
  readonly node: string
  readonly baseUrl: string
  readonly term: number
}

/** A candidate in an election. `holder`, the machine and an ID, is different after every start of a process. */
export interface Candidate {
  readonly role: string
  readonly holder: string
  /** Host and port. A process on the same machine with the same host and port is the restarted earlier process. */
  readonly node: string
  readonly baseUrl: string
}

/** Notifications about leases that were released, with the role. */
export const leasesChannel = 'svc_leases'

/** The result of an attempt to acquire a lease. */
export interface LeaseAttempt {
  /** The new term if the lease was acquired. */
  readonly term: number | undefined
  /** Otherwise, the time until the lease of the current leader expires, unless it is renewed. May be negative. */
  readonly expiresInMs: number
}

/**
 * Acquires the lease if it is free, expired, or held by an earlier process on the same port. A process that holds the lease
 * without knowing it, because an answer was lost, must release it first: otherwise, a process that never gets answers would
 * keep all others from leading.
 */
export async function acquireLease(
  queries: Queries,
  candidate: Candidate,
  leaseMs: number,
): Promise<LeaseAttempt> {
  const { role, holder, node, baseUrl } = candidate
  const expiry = sql`clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond'`
  const [row] = await queries.query<{ term: number | null; expiresInMs: number | null }>(sql`
    WITH acquired AS (
      INSERT INTO leader_leases AS lease (role, holder, node, base_url, term, expires_at)
      VALUES (${role}, ${holder}, ${node}, ${baseUrl}, 1, ${expiry})
      ON CONFLICT (role) DO UPDATE
      SET holder = excluded.holder, node = excluded.node, base_url = excluded.base_url,
          term = lease.term + 1, expires_at = excluded.expires_at
      WHERE lease.expires_at < clock_timestamp()
        OR (lease.node = excluded.node AND lease.holder <> excluded.holder
          AND split_part(lease.holder, ' ', 1) = split_part(excluded.holder, ' ', 1))
      RETURNING term)
    SELECT (SELECT term FROM acquired),
      (SELECT (extract(epoch FROM expires_at) - extract(epoch FROM clock_timestamp()))::float8 * 1000
        FROM leader_leases WHERE role = ${role}) AS "expiresInMs"`)
  return { term: row?.term ?? undefined, expiresInMs: row?.expiresInMs ?? 0 }
}

/** Renews a lease. Returns false if another candidate has taken it. */
export async function renewLease(
  queries: Queries,
  candidate: Candidate,
  term: number,
  leaseMs: number,
): Promise<boolean> {
  const rows = await queries.query(sql`
    UPDATE leader_leases SET expires_at = clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond'
    WHERE role = ${candidate.role} AND holder = ${candidate.holder} AND term = ${term} RETURNING term`)
  return rows.length === 1
}

/** Releases the lease of a process if it has one, and notifies other candidates, so that one can become leader immediately. */
export async function releaseLease(queries: Queries, candidate: Candidate): Promise<void> {
  await queries.query(sql`
    WITH released AS (
      UPDATE leader_leases SET expires_at = '-infinity'
      WHERE role = ${candidate.role} AND holder = ${candidate.holder}
      RETURNING role)
    SELECT pg_notify(${leasesChannel}, role) FROM released`)
}

/** A lease that is valid. */
export interface ValidLease extends Lease {
  /** Whether it expires within a given time, unless the leader renews it. */
  readonly expiresSoon: boolean
}

/** Returns the current leaders, and whether their leases expire within `soonMs`. */
export async function loadLeases(queries: Queries, soonMs = 0): Promise<ValidLease[]> {
  return await queries.query<ValidLease>(validLeases(soonMs))
}

/** The statement that returns the rows of `loadLeases`. */
export const validLeases = (soonMs: number): Sql => sql`
  SELECT role, node, base_url AS "baseUrl", term,
    expires_at <= clock_timestamp() + ${soonMs}::float8 * interval '1 millisecond' AS "expiresSoon"
  FROM leader_leases WHERE expires_at > clock_timestamp()`

/**
 * Fences a transaction: it continues only if the term is the newest one, and no other leader can take over before it
 * ends. Throws an `unavailable` Failure for an old leader, which therefore writes nothing.
 */
export async function assertLeads(transaction: Queries, role: string, term: number): Promise<void> {
  const rows = await transaction.query(sql`
    SELECT 1 FROM leader_leases WHERE role = ${role} AND term = ${term} FOR SHARE`)
  if (rows.length === 0)
    throw unavailable(`This server is no longer the [${role}] leader: another server has taken over`)
}
