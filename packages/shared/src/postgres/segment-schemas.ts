import { createHash } from 'node:crypto'
import type { SegmentColumn } from '@svc/domain/segment'
import { type Queries, sql } from './database.ts'

/** Stores lists of columns, each once. Returns their IDs in order. */
export async function saveSegmentSchemas(
  transaction: Queries,
  lists: readonly (readonly SegmentColumn[])[],
): Promise<number[]> {
  const texts = lists.map((list) => JSON.stringify(list.map(({ name, type }) => ({ name, type }))))
  const fingerprints = new Map(
    [...new Set(texts)].map((text) => [text, createHash('sha256').update(text).digest('hex')]),
  )
  const known = await loadNumbers(transaction, [...fingerprints.values()])
  const missing = [...fingerprints]
    .filter(([, fingerprint]) => !known.has(fingerprint))
    .map(([text, fingerprint]) => ({ text, fingerprint }))
  if (missing.length > 0) {
    // Datasources share these rows: locking existing rows would block other publications until this one ends. New rows
    // are inserted in a fixed order, so that two publications never deadlock.
    missing.sort((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1))
    const added = missing.map(({ fingerprint }) => fingerprint)
    await transaction.query(sql`
      INSERT INTO segment_schemas (fingerprint, columns)
      SELECT fingerprint, columns::json FROM unnest(
        ${added}::text[], ${missing.map(({ text }) => text)}::text[]) AS missing (fingerprint, columns)
      ON CONFLICT (fingerprint) DO NOTHING`)
    // A separate statement, which sees what another transaction has published in the meantime.
    for (const [fingerprint, id] of await loadNumbers(transaction, added)) known.set(fingerprint, id)
  }
  return texts.map((text) => known.get(fingerprints.get(text) as string) as number)
}

/** Returns the IDs of stored lists of columns by fingerprint. */
async function loadNumbers(queries: Queries, fingerprints: readonly string[]): Promise<Map<string, number>> {
  const rows = await queries.query<{ id: number; fingerprint: string }>(
    sql`SELECT id, fingerprint FROM segment_schemas WHERE fingerprint = ANY(${fingerprints})`,
  )
  return new Map(rows.map(({ id, fingerprint }) => [fingerprint, id]))
}

/** Returns lists of columns by ID; unknown IDs are left out. */
export async function loadSegmentSchemas(
  queries: Queries,
  ids: readonly number[],
): Promise<ReadonlyMap<number, readonly SegmentColumn[]>> {
  if (ids.length === 0) return new Map()
  const rows = await queries.query<{ id: number; columns: readonly SegmentColumn[] }>(
    sql`SELECT id, columns FROM segment_schemas WHERE id = ANY(${ids})`,
  )
  return new Map(rows.map(({ id, columns }) => [id, columns]))
}
