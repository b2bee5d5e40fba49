import type { Role } from '../config/index.ts'
import { type Queries, sql } from './database.ts'

/** Why a server cannot serve, as reported by itself. */
export interface ServerTrouble {
  readonly role: Role
  /** Host and port. */
  readonly name: string
  readonly trouble: string
}

/** Reports, or repeats, why a server cannot serve. */
export async function saveServerTrouble(
  queries: Queries,
  { role, name, trouble }: ServerTrouble,
): Promise<void> {
  await queries.query(sql`
    INSERT INTO server_troubles (role, name, trouble) VALUES (${role}, ${name}, ${trouble})
    ON CONFLICT (role, name) DO UPDATE SET trouble = excluded.trouble, told_at = now()`)
}

/** Removes the report of a server. */
export async function removeServerTrouble(
  queries: Queries,
  { role, name }: Pick<ServerTrouble, 'role' | 'name'>,
): Promise<void> {
  await queries.query(sql`DELETE FROM server_troubles WHERE role = ${role} AND name = ${name}`)
}

/** Returns the problems reported within `timeoutMs`, sorted by role and name. */
export async function loadServerTroubles(queries: Queries, timeoutMs: number): Promise<ServerTrouble[]> {
  return await queries.query<ServerTrouble>(sql`
    SELECT role, name, trouble FROM server_troubles
    WHERE told_at > now() - ${timeoutMs}::float8 * interval '1 millisecond' ORDER BY role, name`)
}

/** Deletes problems that have not been repeated for `keptMs`. */
export async function removeStaleTroubles(queries: Queries, keptMs: number): Promise<void> {
  await queries.query(
    sql`DELETE FROM server_troubles WHERE told_at < now() - ${keptMs}::float8 * interval '1 millisecond'`,
  )
}
