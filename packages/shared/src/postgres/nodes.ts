import type { Sql } from 'sql-template-tag'
import type { Role } from '../config/index.ts'
import { type Queries, sql } from './database.ts'
import { type ValidLease, validLeases } from './leases.ts'

/** A running server as it announces itself. */
export interface AnnouncedNode {
  /** Host and port; the TLS port if there is one. */
  readonly name: string
  readonly role: Role
  readonly service: string
  readonly host: string
  readonly plaintextPort: number | null
  readonly tlsPort: number | null
  /** Properties specific to the role. */
  readonly details: Readonly<Record<string, unknown>>
}

/** Announces a server, or renews its heartbeat. */
export async function saveHeartbeat(queries: Queries, node: AnnouncedNode): Promise<void> {
  await queries.query(heartbeat(node))
}

const heartbeat = (node: AnnouncedNode): Sql => sql`
  INSERT INTO nodes (name, role, service, host, plaintext_port, tls_port, details)
  VALUES (${node.name}, ${node.role}, ${node.service}, ${node.host}, ${node.plaintextPort}, ${node.tlsPort},
    ${JSON.stringify(node.details)})
  ON CONFLICT (role, name) DO UPDATE
  SET heartbeat_at = now(), service = excluded.service, host = excluded.host,
      plaintext_port = excluded.plaintext_port, tls_port = excluded.tls_port,
      details = excluded.details`

/** Removes a server from discovery. */
export async function removeNode(queries: Queries, node: AnnouncedNode): Promise<void> {
  await queries.query(sql`DELETE FROM nodes WHERE role = ${node.role} AND name = ${node.name}`)
}

const nodeColumns = sql`
  name, role, service, host, plaintext_port AS "plaintextPort", tls_port AS "tlsPort", details`
const isAlive = (timeoutMs: number): Sql =>
  sql`heartbeat_at > now() - ${timeoutMs}::float8 * interval '1 millisecond'`

/** Returns the servers with a heartbeat within `timeoutMs`, sorted by role and name. */
export async function loadNodes(queries: Queries, timeoutMs: number): Promise<AnnouncedNode[]> {
  return await queries.query<AnnouncedNode>(
    sql`SELECT ${nodeColumns} FROM nodes WHERE ${isAlive(timeoutMs)} ORDER BY role, name`,
  )
}

/** Which servers and leaders a server needs. */
export interface WantedMembers {
  /** The roles of the servers to return. */
  readonly roles: readonly Role[]
  /** This server, whose heartbeat is renewed; also returned, whatever its role. */
  readonly own: AnnouncedNode | undefined
  /** How old the heartbeat of a server may be. */
  readonly timeoutMs: number
  /** See `loadLeases`. */
  readonly soonMs: number
}

/** Servers, sorted by role and name, and the current leaders. */
export interface Members {
  readonly nodes: readonly AnnouncedNode[]
  readonly leases: readonly ValidLease[]
}

/**
 * Renews the heartbeat of a server, and returns the servers and leaders that it needs. Every server does this all the time, so it
 * is one statement.
 */
export async function refreshMembers(queries: Queries, wanted: WantedMembers): Promise<Members> {
  const { own, roles, timeoutMs, soonMs } = wanted
  // A statement does not see the rows that it writes itself.
  const announced = own
    ? sql`${heartbeat(own)} RETURNING ${nodeColumns}`
    : sql`SELECT ${nodeColumns} FROM nodes WHERE false`
  const [members] = await queries.query<Members>(sql`
    WITH announced AS (${announced}), alive AS (
      SELECT ${nodeColumns} FROM nodes WHERE ${isAlive(timeoutMs)} AND role = ANY(${[...roles]})
        AND NOT (role = ${own?.role ?? ''} AND name = ${own?.name ?? ''})
      UNION ALL SELECT * FROM announced)
    SELECT
      coalesce((SELECT json_agg(alive ORDER BY role, name) FROM alive), '[]') AS nodes,
      coalesce((SELECT json_agg(lease) FROM (${validLeases(soonMs)}) lease), '[]') AS leases`)
  if (members === undefined) throw new Error('The statement returned no row')
  return members
}

/** A server that stopped sending heartbeats without leaving. */
export interface MissingNode extends Pick<AnnouncedNode, 'name' | 'role'> {
  /** Time since its last heartbeat. */
  readonly silentMs: number
}

/** Returns the servers whose last heartbeat is older than `timeoutMs`, sorted by role and name. */
export async function loadMissingNodes(queries: Queries, timeoutMs: number): Promise<MissingNode[]> {
  return await queries.query<MissingNode>(sql`
    SELECT name, role, (extract(epoch FROM now() - heartbeat_at) * 1000)::float8 AS "silentMs"
    FROM nodes WHERE heartbeat_at <= now() - ${timeoutMs}::float8 * interval '1 millisecond'
    ORDER BY role, name`)
}

/** Deletes servers that have had no heartbeat for `keptMs`. */
export async function removeStaleNodes(queries: Queries, keptMs: number): Promise<void> {
  await queries.query(
    sql`DELETE FROM nodes WHERE heartbeat_at < now() - ${keptMs}::float8 * interval '1 millisecond'`,
  )
}
