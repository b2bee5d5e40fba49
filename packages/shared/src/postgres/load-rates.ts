import type { LoadSums } from '@svc/domain/load-time'
import { type Queries, sql } from './database.ts'

/** Returns how fast servers have loaded segments, by server. */
export async function loadLoadRates(queries: Queries): Promise<ReadonlyMap<string, LoadSums>> {
  const rows = await queries.query<{ server: string; sums: LoadSums }>(
    sql`SELECT server, sums FROM load_rates`,
  )
  return new Map(rows.map(({ server, sums }) => [server, sums]))
}

/** Stores how fast servers have loaded segments. */
export async function saveLoadRates(queries: Queries, rates: ReadonlyMap<string, LoadSums>): Promise<void> {
  await queries.query(sql`
    INSERT INTO load_rates (server, sums)
    SELECT server, sums FROM unnest(${[...rates.keys()]}::text[],
      ${[...rates.values()].map((sums) => JSON.stringify(sums))}::json[]) AS measured (server, sums)
    ON CONFLICT (server) DO UPDATE SET sums = excluded.sums, measured_at = now()`)
}

/** Deletes the rates of servers that were not measured within the last `keptMs` milliseconds. */
export async function removeStaleLoadRates(queries: Queries, keptMs: number): Promise<void> {
  await queries.query(
    sql`DELETE FROM load_rates WHERE measured_at < now() - ${keptMs}::float8 * interval '1 millisecond'`,
  )
}
