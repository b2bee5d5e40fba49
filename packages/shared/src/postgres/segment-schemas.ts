import { createHash } from 'node:crypto'
import type { SegmentColumn } from '@svc/domain/segment'
import { type Queries, sql } from './database.ts'

/** Stores lists of columns, each once; answers the number of each in their order. */
export async function saveSegmentSchemas(
  transaction: Queries,
  lists: readonly (readonly SegmentColumn[])[],
): Promise<number[]> {
  const known = new Map<string, number>()
  const numbers: number[] = []
  for (const list of lists) {
    const columns = JSON.stringify(list.map(({ name, type }) => ({ name, type })))
    const number = known.get(columns) ?? (await saveSchema(transaction, columns))
    known.set(columns, number)
    numbers.push(number)
  }
  return numbers
}

async function saveSchema(transaction: Queries, columns: string): Promise<number> {
  const fingerprint = createHash('sha256').update(columns).digest('hex')
  const [row] = await transaction.query<{ id: number }>(sql`
    INSERT INTO segment_schemas (fingerprint, columns) VALUES (${fingerprint}, ${columns})
    ON CONFLICT (fingerprint) DO UPDATE SET fingerprint = excluded.fingerprint RETURNING id`)
  return (row as { id: number }).id
}

/** Lists of columns by their number; unknown numbers are left out. */
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
