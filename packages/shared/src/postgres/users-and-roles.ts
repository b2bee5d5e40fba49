import type { Permission } from '@svc/domain/access'
import type { Credentials, UsersAndRoles } from '../security/index.ts'
import { type Database, type Queries, sql } from './database.ts'

/** The notification channel for changes to users, roles, and permissions. */
export const securityChannel = 'svc_security'

interface UserRow {
  readonly store: string
  readonly name: string
  readonly credentials: Credentials | null
}
interface RolesRow {
  readonly store: string
  readonly name: string
  readonly roles: string[]
}
interface MappingRow extends RolesRow {
  readonly groupPattern: string
}
interface PermissionsRow {
  readonly store: string
  readonly name: string
  readonly permissions: Permission[]
}

/** Returns a snapshot of all users, roles, and group mappings. */
export async function loadUsersAndRoles(database: Database): Promise<UsersAndRoles> {
  return await database.transaction(async (transaction) => {
    await transaction.query(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`)
    return await readUsersAndRoles(transaction)
  })
}

/** Returns the same as seen by a transaction, including its own changes. */
export async function readUsersAndRoles(queries: Queries): Promise<UsersAndRoles> {
  const [state] = await queries.query<{ version: number }>(sql`SELECT version FROM security_version`)
  const logins = await queries.query<UserRow>(
    sql`SELECT authenticator AS store, name, credentials FROM authentication_users ORDER BY position`,
  )
  const users = await queries.query<RolesRow>(sql`
    SELECT u.authorizer AS store, u.name, coalesce(array_agg(r.role_name ORDER BY r.position)
      FILTER (WHERE r.role_name IS NOT NULL), '{}') AS roles
    FROM authorization_users u
    LEFT JOIN authorization_user_roles r ON r.authorizer = u.authorizer AND r.user_name = u.name
    GROUP BY u.authorizer, u.name, u.position ORDER BY u.position`)
  const roles = await queries.query<PermissionsRow>(
    sql`SELECT authorizer AS store, name, permissions FROM authorization_roles ORDER BY position`,
  )
  const mappings = await queries.query<MappingRow>(sql`
    SELECT m.authorizer AS store, m.name, m.group_pattern AS "groupPattern",
      coalesce(array_agg(r.role_name ORDER BY r.position) FILTER (WHERE r.role_name IS NOT NULL), '{}') AS roles
    FROM authorization_group_mappings m
    LEFT JOIN authorization_group_mapping_roles r ON r.authorizer = m.authorizer AND r.mapping_name = m.name
    GROUP BY m.authorizer, m.name, m.group_pattern, m.position ORDER BY m.position`)
  const authorizers = new Set([...users, ...roles, ...mappings].map(({ store }) => store))
  return {
    version: state?.version ?? 0,
    authenticators: Object.fromEntries(
      [...new Set(logins.map(({ store }) => store))].map((store) => [
        store,
        namedRows(logins, store, ({ credentials }) => credentials),
      ]),
    ),
    authorizers: Object.fromEntries(
      [...authorizers].map((store) => [
        store,
        {
          users: namedRows(users, store, (row) => row.roles),
          roles: namedRows(roles, store, ({ permissions }) => permissions),
          groupMappings: namedRows(mappings, store, ({ groupPattern, roles: mapped }) => ({
            groupPattern,
            roles: mapped,
          })),
        },
      ]),
    ),
  }
}

function namedRows<Row extends { readonly store: string; readonly name: string }, Value>(
  rows: readonly Row[],
  store: string,
  pick: (row: Row) => Value,
): Record<string, Value> {
  return Object.fromEntries(rows.filter((row) => row.store === store).map((row) => [row.name, pick(row)]))
}
