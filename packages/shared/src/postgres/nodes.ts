import { type Role, roles } from '../config/index.ts'
import { type Queries, sql } from './database.ts'

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
  await queries.query(sql`
    INSERT INTO nodes (name, role, service, host, plaintext_port, tls_port, details)
    VALUES (${node.name}, ${node.role}, ${node.service}, ${node.host}, ${node.plaintextPort}, ${node.tlsPort},
      ${JSON.stringify(node.details)})
    ON CONFLICT (role, name) DO UPDATE
    SET heartbeat_at = now(), service = excluded.service, host = excluded.host,
        plaintext_port = excluded.plaintext_port, tls_port = excluded.tls_port,
        details = excluded.details`)
}

/** Removes a server from discovery. */
export async function removeNode(queries: Queries, node: AnnouncedNode): Promise<void> {
  await queries.query(sql`DELETE FROM nodes WHERE role = ${node.role} AND name = ${node.name}`)
}

/** Which servers to load. */
export interface WantedNodes {
  readonly roles: readonly Role[]
  /** Also this server, whatever its role. */
  readonly own?: Pick<AnnouncedNode, 'role' | 'name'> | undefined
}

/** Returns the servers (or only the requested ones) with a heartbeat within `timeoutMs`, sorted by role and name. */
export async function loadNodes(
  queries: Queries,
  timeoutMs: number,
  { roles: wanted, own }: WantedNodes = { roles },
): Promise<AnnouncedNode[]> {
  return await queries.query<AnnouncedNode>(sql`
    SELECT name, role, service, host, plaintext_port AS "plaintextPort", tls_port AS "tlsPort", details
    FROM nodes WHERE heartbeat_at > now() - ${timeoutMs}::float8 * interval '1 millisecond'
      AND (role = ANY(${[...wanted]}) OR (role = ${own?.role ?? ''} AND name = ${own?.name ?? ''}))
    ORDER BY role, name`)
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
