import type { Permission } from '@svc/domain/access'
import type { Credentials, SecurityDirectory } from '../security/index.ts'
import { type Database, type Queries, sql } from './database.ts'

/** The channel on which changes of users, roles and permissions are told. */
export const securityChannel = 'svc_security'

/** The whole directory of users and roles. */
export async function loadSecurityDirectory(database: Database): Promise<SecurityDirectory> {
  return await database.transaction(async (transaction) => {
    await transaction.query(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`)
    const [state] = await transaction.query<{ version: number }>(sql`SELECT version FROM security_version`)
    const users = await transaction.query<{
      authenticator: string
      name: string
      credentials: Credentials | null
    }>(sql`SELECT authenticator, name, credentials FROM authentication_users ORDER BY position`)
    const permitted = await transaction.query<{ authorizer: string; name: string; roles: string[] }>(sql`
      SELECT u.authorizer, u.name, coalesce(array_agg(r.role_name ORDER BY r.position)
        FILTER (WHERE r.role_name IS NOT NULL), '{}') AS roles
      FROM authorization_users u
      LEFT JOIN authorization_user_roles r ON r.authorizer = u.authorizer AND r.user_name = u.name
      GROUP BY u.authorizer, u.name, u.position ORDER BY u.position`)
    const roles = await transaction.query<{ authorizer: string; name: string; permissions: Permission[] }>(
      sql`SELECT authorizer, name, permissions FROM authorization_roles ORDER BY position`,
    )
    const grouped = <Row, Value>(
      rows: readonly Row[],
      group: (row: Row) => string,
      entry: (row: Row) => [string, Value],
    ) => {
      const byGroup = new Map<string, [string, Value][]>()
      for (const row of rows) byGroup.set(group(row), [...(byGroup.get(group(row)) ?? []), entry(row)])
      return byGroup
    }
    const usersBy = grouped(
      users,
      (row) => row.authenticator,
      (row) => [row.name, row.credentials],
    )
    const permittedBy = grouped(
      permitted,
      (row) => row.authorizer,
      (row) => [row.name, row.roles],
    )
    const rolesBy = grouped(
      roles,
      (row) => row.authorizer,
      (row) => [row.name, row.permissions],
    )
    const authorizers = new Set([...permittedBy.keys(), ...rolesBy.keys()])
    return {
      version: state?.version ?? 0,
      authenticators: Object.fromEntries(
        [...usersBy].map(([name, entries]) => [name, Object.fromEntries(entries)]),
      ),
      authorizers: Object.fromEntries(
        [...authorizers].map((name) => [
          name,
          {
            users: Object.fromEntries(permittedBy.get(name) ?? []),
            roles: Object.fromEntries(rolesBy.get(name) ?? []),
          },
        ]),
      ),
    }
  })
}

/** A store of users or of roles that is filled once; false if it has been filled before. */
export async function claimInitialization(
  transaction: Queries,
  kind: 'authenticator' | 'authorizer',
  name: string,
): Promise<boolean> {
  const rows = await transaction.query(sql`
    INSERT INTO security_initialized (kind, name) VALUES (${kind}, ${name}) ON CONFLICT DO NOTHING RETURNING name`)
  return rows.length === 1
}

/** Stores a user that can log in. */
export async function saveAuthenticationUser(
  transaction: Queries,
  authenticator: string,
  name: string,
  credentials: Credentials,
): Promise<void> {
  await transaction.query(sql`
    INSERT INTO authentication_users (authenticator, name, credentials)
    VALUES (${authenticator}, ${name}, ${JSON.stringify(credentials)}) ON CONFLICT DO NOTHING`)
}

/** Stores a user of an authorizer with one role of the same name that holds `permissions`. */
export async function saveUserWithRole(
  transaction: Queries,
  authorizer: string,
  name: string,
  permissions: readonly Permission[],
): Promise<void> {
  await transaction.query(sql`
    INSERT INTO authorization_roles (authorizer, name, permissions)
    VALUES (${authorizer}, ${name}, ${JSON.stringify(permissions)}) ON CONFLICT DO NOTHING`)
  await transaction.query(
    sql`INSERT INTO authorization_users (authorizer, name) VALUES (${authorizer}, ${name}) ON CONFLICT DO NOTHING`,
  )
  await transaction.query(sql`
    INSERT INTO authorization_user_roles (authorizer, user_name, role_name)
    VALUES (${authorizer}, ${name}, ${name}) ON CONFLICT DO NOTHING`)
}

/** Counts the version up and tells every listening server, when the transaction ends well. */
export async function announceSecurityChange(transaction: Queries): Promise<void> {
  await transaction.query(sql`UPDATE security_version SET version = version + 1`)
  await transaction.query(sql`SELECT pg_notify(${securityChannel}, '')`)
}
