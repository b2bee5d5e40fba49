import { type Queries, sql } from './database.ts'

/** Returns the ID of the cluster, which never changes. */
export async function loadClusterId(queries: Queries): Promise<string> {
  const [{ id }] = (await queries.query<{ id: string }>(sql`SELECT id FROM cluster_identity`)) as [
    { id: string },
  ]
  return id
}
