import { tooLarge } from '@svc/domain/failure'
import type { Interval } from '@svc/domain/time'
import type { Sql } from 'sql-template-tag'
import { type Queries, sql } from './database.ts'

/** One audit entry, written in the same transaction as the change. */
export interface AuditEntry {
  readonly type: string
  readonly key: string
  readonly author: string
  readonly comment: string
  readonly identity: string
  readonly ip: string
  /** The new value, as JSON text. */
  readonly payload: string
  /** What it replaced, as JSON text; unknown unless the entry is about rules, and only read if the query says so. */
  readonly replaced?: string | null
}

/** A stored entry; `createdAt` in epoch milliseconds. */
export interface StoredAuditEntry extends AuditEntry {
  readonly id: number
  readonly createdAt: number
}

/** Writes an entry, and returns its ID; `now` is the cluster's time in epoch milliseconds. */
export async function saveAudit(queries: Queries, entry: AuditEntry, now: number): Promise<number> {
  const { type, key, author, comment, identity, ip, payload, replaced = null } = entry
  const [saved] = await queries.query<{ id: number }>(sql`
    INSERT INTO audit (type, key, author, comment, identity, ip, payload, replaced, created_at)
    VALUES (${type}, ${key}, ${author}, ${comment}, ${identity}, ${ip}, ${payload}, ${replaced},
      to_timestamp(${now / 1000})) RETURNING id`)
  return saved!.id
}

/** Writes entries with one statement, all or none. */
export async function saveAudits(
  queries: Queries,
  entries: readonly AuditEntry[],
  now: number,
): Promise<void> {
  const column = (name: Exclude<keyof AuditEntry, 'replaced'>) => entries.map((entry) => entry[name])
  await queries.query(sql`
    INSERT INTO audit (type, key, author, comment, identity, ip, payload, created_at)
    SELECT type, key, author, comment, identity, ip, payload, to_timestamp(${now / 1000})
    FROM unnest(${column('type')}::text[], ${column('key')}::text[], ${column('author')}::text[],
      ${column('comment')}::text[], ${column('identity')}::text[], ${column('ip')}::text[],
      ${column('payload')}::text[]) AS entry (type, key, author, comment, identity, ip, payload)`)
}

/** Which entries to read: the newest `count` (newest first), or those of an interval (oldest first). */
export interface AuditQuery {
  readonly type: string
  readonly key?: string | undefined
  /** Entries of one of these keys only. */
  readonly keys?: readonly string[] | undefined
  readonly count?: number | undefined
  readonly interval?: Interval | undefined
  /** Whether to read what the entries replaced, which can be as large as the rest. */
  readonly withReplaced?: boolean | undefined
}

// The number of entries is limited only without a count.
const maxEntries = 10_000
// An entry can have up to 4 MiB: few are in memory at a time.
const maxPageBytes = 2 ** 19
const maxPageEntries = 1000

/** Returns the keys that have entries of a type. */
export async function loadAuditKeys(queries: Queries, type: string): Promise<string[]> {
  const rows = await queries.query<{ key: string }>(
    sql`SELECT DISTINCT key FROM audit WHERE type = ${type} ORDER BY key`,
  )
  return rows.map(({ key }) => key)
}

/**
 * Generates the entries of a history of any size in the same order as Druid 37: newest first with a count, oldest first without.
 * They come in pages of up to half a MiB, or of one entry. Throws a tooLarge Failure before the first page if there are too many entries.
 */
export async function* loadAuditInPages(
  queries: Queries,
  query: AuditQuery,
): AsyncGenerator<StoredAuditEntry[]> {
  const replaced = query.withReplaced ? sql`replaced` : sql`NULL::text`
  const found = await findAudit(queries, query, replaced)
  for (let start = 0; start < found.length; ) {
    const end = endOfPage(found, start)
    const ids = found.slice(start, end).map(({ id }) => id)
    const entries = await queries.query<StoredAuditEntry>(sql`
      SELECT id, type, key, author, comment, identity, ip, payload, ${replaced} AS replaced, created_at AS "createdAt"
      FROM audit WHERE id = ANY(${ids}::int8[])`)
    const byId = new Map(entries.map((entry) => [entry.id, entry]))
    // Entries that were erased in the meantime are left out.
    yield ids.flatMap((id) => byId.get(id) ?? [])
    start = end
  }
}

interface FoundEntry {
  readonly id: number
  /** Size of the values to read, in bytes. */
  readonly bytes: number
}

async function findAudit(queries: Queries, query: AuditQuery, replaced: Sql): Promise<FoundEntry[]> {
  const { type, key, count, interval } = query
  const keys = key === undefined ? query.keys : [key]
  const byKey = keys === undefined ? sql`` : sql`AND key = ANY(${keys}::text[])`
  const byTime =
    interval === undefined
      ? sql``
      : sql`AND created_at >= to_timestamp(${storableSeconds(interval.start)}) AND created_at < to_timestamp(${storableSeconds(interval.end)})`
  // One more than allowed shows that there are too many.
  const order =
    count === undefined ? sql`ORDER BY id LIMIT ${maxEntries + 1}` : sql`ORDER BY id DESC LIMIT ${count}`
  const found = await queries.query<FoundEntry>(sql`
    SELECT id, octet_length(payload) + coalesce(octet_length(${replaced}), 0) AS bytes
    FROM audit WHERE type = ${type} ${byKey} ${byTime} ${order}`)
  if (count === undefined && found.length > maxEntries)
    throw tooLarge(
      `The history has more than [${maxEntries}] entries. Use a shorter [interval] or a [count].`,
    )
  return found
}

function endOfPage(found: readonly FoundEntry[], start: number): number {
  let bytes = 0
  let end = start
  do bytes += found[end++]!.bytes
  while (end < found.length && end - start < maxPageEntries && bytes + found[end]!.bytes <= maxPageBytes)
  return end
}

/** Returns epoch seconds, clamped to the range of Postgres timestamps. */
export function storableSeconds(instantMs: number): number {
  return Math.min(Math.max(instantMs / 1000, -200_000_000_000), 9_000_000_000_000)
}
