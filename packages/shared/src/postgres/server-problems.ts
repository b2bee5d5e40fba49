import type { Role } from '../config/index.ts'
import { type Queries, sql } from './database.ts'

/** Why a server cannot serve, as reported by itself. */
export interface ServerProblem {
  readonly role: Role
  /** Host and port. */
  readonly name: string
  readonly problem: string
}

/** Reports, or repeats, why a server cannot serve. */
export async function saveServerProblem(
  queries: Queries,
  { role, name, problem }: ServerProblem,
): Promise<void> {
  await queries.query(sql`
    INSERT INTO server_troubles (role, name, trouble) VALUES (${role}, ${name}, ${problem})
    ON CONFLICT (role, name) DO UPDATE SET trouble = excluded.trouble, told_at = now()`)
}

/** Removes the report of a server. */
export async function removeServerProblem(
  queries: Queries,
  { role, name }: Pick<ServerProblem, 'role' | 'name'>,
): Promise<void> {
  await queries.query(sql`DELETE FROM server_troubles WHERE role = ${role} AND name = ${name}`)
}

/** Returns the problems reported within `timeoutMs`, sorted by role and name. */
export async function loadServerProblems(queries: Queries, timeoutMs: number): Promise<ServerProblem[]> {
  return await queries.query<ServerProblem>(sql`
    SELECT role, name, trouble AS problem FROM server_troubles
    WHERE told_at > now() - ${timeoutMs}::float8 * interval '1 millisecond' ORDER BY role, name`)
}

/** Deletes problems that have not been repeated for `keptMs`. */
export async function removeStaleProblems(queries: Queries, keptMs: number): Promise<void> {
  await queries.query(
    sql`DELETE FROM server_troubles WHERE told_at < now() - ${keptMs}::float8 * interval '1 millisecond'`,
  )
}
