import { Failure } from '@svc/domain/failure'
import type { Interval } from '@svc/domain/time'
import { type AuditEntry, type StoredAuditEntry, saveAudits } from './audit.ts'
import { type Queries, sql } from './database.ts'
import { securityAuditType } from './security-changes.ts'

/** Types of security audit entries: changes to users and roles, and login and permission events. */
export const securityEventTypes = [
  securityAuditType,
  'security.loginFailure',
  'security.forbidden',
  'security.login',
] as const
export type SecurityEventType = (typeof securityEventTypes)[number]

/** A security audit entry with its ID, which is used for pagination. */
export interface StoredSecurityEvent extends StoredAuditEntry {
  readonly id: number
}

/**
 * Which entries to read: the newest `count` entries of these types before the entry `before` that match the other
 * fields.
 */
export interface SecurityEventQuery {
  readonly types: readonly SecurityEventType[]
  readonly count: number
  readonly before?: number | undefined
  readonly identity?: string | undefined
  readonly key?: string | undefined
  readonly ip?: string | undefined
  readonly interval?: Interval | undefined
}

/**
 * Writes entries. Returns those that Postgres rejects because of their content; all others are written. Throws if the
 * metadata store is unavailable; some of the entries may have been written then.
 */
export async function saveSecurityEvents(
  database: Queries,
  entries: readonly AuditEntry[],
  now: number,
): Promise<readonly AuditEntry[]> {
  if (entries.length === 0) return []
  try {
    await saveAudits(database, entries, now)
    return []
  } catch (error) {
    if (!isAboutContent(error)) throw error
    if (entries.length === 1) return entries
    const middle = Math.ceil(entries.length / 2)
    const refused = await saveSecurityEvents(database, entries.slice(0, middle), now)
    return [...refused, ...(await saveSecurityEvents(database, entries.slice(middle), now))]
  }
}

// SQLSTATE classes: 22 data exception, 23 integrity constraint violation, 54 program limit exceeded.
const contentPattern = /^(22|23|54)/

/** Whether Postgres rejected a statement because of its values, so that it would accept other values. */
function isAboutContent(error: unknown): boolean {
  if (error instanceof Failure) return error.code === 'invalidInput'
  return contentPattern.test(String((error as { code?: unknown }).code))
}

/** Returns security audit entries, newest first. */
export async function loadSecurityEvents(
  queries: Queries,
  { types, count, before, identity, key, ip, interval }: SecurityEventQuery,
): Promise<StoredSecurityEvent[]> {
  const only = [
    before === undefined ? sql`` : sql`AND id < ${before}`,
    identity === undefined ? sql`` : sql`AND identity = ${identity}`,
    key === undefined ? sql`` : sql`AND key = ${key}`,
    ip === undefined ? sql`` : sql`AND ip = ${ip}`,
    interval === undefined
      ? sql``
      : sql`AND created_at >= to_timestamp(${interval.start / 1000}) AND created_at < to_timestamp(${interval.end / 1000})`,
  ] as const
  return await queries.query<StoredSecurityEvent>(sql`
    SELECT id, type, key, author, comment, identity, ip, payload, created_at AS "createdAt"
    FROM audit WHERE type LIKE 'security%' AND type = ANY(${types})
    ${only[0]} ${only[1]} ${only[2]} ${only[3]} ${only[4]}
    ORDER BY id DESC LIMIT ${count}`)
}
