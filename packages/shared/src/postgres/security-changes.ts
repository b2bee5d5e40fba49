import type { Permission } from '@svc/domain/access'
import { raw } from 'sql-template-tag'
import type { Credentials } from '../security/index.ts'
import { type AuditEntry, saveAudit } from './audit.ts'
import { type Database, type Queries, sql, type Transaction } from './database.ts'
import { securityChannel } from './users-and-roles.ts'

/** Who makes a change, and its content. */
export type SecurityAudit = Omit<AuditEntry, 'type' | 'payload'> & { readonly payload: unknown }

/** The type of the audit entries for users, roles, and group mappings. */
export const securityAuditType = 'security'

/**
 * Changes users, roles, or group mappings: one change at a time in the entire cluster, with its audit entry. All
 * servers are notified when it is committed.
 */
export async function changeSecurity(
  database: Database,
  audit: SecurityAudit,
  now: number,
  change: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.query(sql`SELECT version FROM security_version FOR UPDATE`)
    await change(transaction)
    const payload = JSON.stringify(audit.payload)
    await saveAudit(transaction, { ...audit, type: securityAuditType, payload }, now)
    await announceSecurityChange(transaction)
  })
}

const changed = (rows: readonly unknown[]): boolean => rows.length === 1

/** Tables whose rows are the names in an authenticator or authorizer, and the column that names it. */
const namedRows = {
  login: { table: raw('authentication_users'), store: raw('authenticator') },
  user: { table: raw('authorization_users'), store: raw('authorizer') },
  role: { table: raw('authorization_roles'), store: raw('authorizer') },
  mapping: { table: raw('authorization_group_mappings'), store: raw('authorizer') },
} as const

type NamedRow = keyof typeof namedRows

async function addNamed(
  queries: Queries,
  kind: 'login' | 'user',
  storeName: string,
  name: string,
): Promise<boolean> {
  const { table, store } = namedRows[kind]
  return changed(
    await queries.query(sql`
      INSERT INTO ${table} (${store}, name) VALUES (${storeName}, ${name}) ON CONFLICT DO NOTHING RETURNING name`),
  )
}

async function removeNamed(
  queries: Queries,
  kind: NamedRow,
  storeName: string,
  name: string,
): Promise<boolean> {
  const { table, store } = namedRows[kind]
  return changed(
    await queries.query(
      sql`DELETE FROM ${table} WHERE ${store} = ${storeName} AND name = ${name} RETURNING name`,
    ),
  )
}

/** Creates a user without a password. Returns false if it already exists. */
export const addAuthenticationUser = (
  queries: Queries,
  authenticator: string,
  name: string,
): Promise<boolean> => addNamed(queries, 'login', authenticator, name)

/** Sets the password of a user. Returns false if there is no such user. */
export async function replaceCredentials(
  queries: Queries,
  authenticator: string,
  name: string,
  credentials: Credentials,
): Promise<boolean> {
  return changed(
    await queries.query(sql`
      UPDATE authentication_users SET credentials = ${JSON.stringify(credentials)}
      WHERE authenticator = ${authenticator} AND name = ${name} RETURNING name`),
  )
}

/** Replaces the hash of a password with a new hash of the same password, and notifies the servers. Does nothing if the
 * password has changed since. */
export async function renewCredentials(
  database: Database,
  authenticator: string,
  name: string,
  outdated: Credentials,
  renewed: Credentials,
): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.query(sql`SELECT version FROM security_version FOR UPDATE`)
    const rows = await transaction.query(sql`
      UPDATE authentication_users SET credentials = ${JSON.stringify(renewed)}
      WHERE authenticator = ${authenticator} AND name = ${name} AND credentials->>'hash' = ${outdated.hash}
      RETURNING name`)
    if (changed(rows)) await announceSecurityChange(transaction)
  })
}

/** Removes a user of an authenticator. Returns false if there is none. */
export const removeAuthenticationUser = (
  queries: Queries,
  authenticator: string,
  name: string,
): Promise<boolean> => removeNamed(queries, 'login', authenticator, name)

/** Creates a user of an authorizer. Returns false if it already exists. */
export const addAuthorizationUser = (queries: Queries, authorizer: string, name: string): Promise<boolean> =>
  addNamed(queries, 'user', authorizer, name)

/** Removes a user of an authorizer with its role assignments. Returns false if there is none. */
export const removeAuthorizationUser = (
  queries: Queries,
  authorizer: string,
  name: string,
): Promise<boolean> => removeNamed(queries, 'user', authorizer, name)

/** Creates a role without permissions. Returns false if it already exists. */
export async function addRole(queries: Queries, authorizer: string, name: string): Promise<boolean> {
  return changed(
    await queries.query(sql`
      INSERT INTO authorization_roles (authorizer, name, permissions) VALUES (${authorizer}, ${name}, '[]')
      ON CONFLICT DO NOTHING RETURNING name`),
  )
}

/** Replaces the permissions of a role. Returns false if there is no such role. */
export async function replacePermissions(
  queries: Queries,
  authorizer: string,
  name: string,
  permissions: readonly Permission[],
): Promise<boolean> {
  return changed(
    await queries.query(sql`
      UPDATE authorization_roles SET permissions = ${JSON.stringify(permissions)}
      WHERE authorizer = ${authorizer} AND name = ${name} RETURNING name`),
  )
}

/** Deletes a role and removes it from its users and group mappings. Returns false if there is none. */
export const removeRole = (queries: Queries, authorizer: string, name: string): Promise<boolean> =>
  removeNamed(queries, 'role', authorizer, name)

/** Users and group mappings both have roles. */
export type RoleOwner = 'user' | 'mapping'

const roleTables = {
  user: { table: raw('authorization_user_roles'), nameColumn: raw('user_name') },
  mapping: { table: raw('authorization_group_mapping_roles'), nameColumn: raw('mapping_name') },
} as const

/** Assigns a role to a user or group mapping. Returns false if it already has the role. Both must exist. */
export async function assignRole(
  queries: Queries,
  authorizer: string,
  owner: RoleOwner,
  name: string,
  role: string,
): Promise<boolean> {
  const { table, nameColumn } = roleTables[owner]
  return changed(
    await queries.query(sql`
      INSERT INTO ${table} (authorizer, ${nameColumn}, role_name) VALUES (${authorizer}, ${name}, ${role})
      ON CONFLICT DO NOTHING RETURNING role_name`),
  )
}

/** Removes a role from a user or group mapping. Returns false if it did not have the role. */
export async function unassignRole(
  queries: Queries,
  authorizer: string,
  owner: RoleOwner,
  name: string,
  role: string,
): Promise<boolean> {
  const { table, nameColumn } = roleTables[owner]
  return changed(
    await queries.query(sql`
      DELETE FROM ${table} WHERE authorizer = ${authorizer} AND ${nameColumn} = ${name} AND role_name = ${role}
      RETURNING role_name`),
  )
}

/** Creates a group mapping without roles. Returns false if it already exists. */
export async function addGroupMapping(
  queries: Queries,
  authorizer: string,
  name: string,
  groupPattern: string,
): Promise<boolean> {
  return changed(
    await queries.query(sql`
      INSERT INTO authorization_group_mappings (authorizer, name, group_pattern)
      VALUES (${authorizer}, ${name}, ${groupPattern}) ON CONFLICT DO NOTHING RETURNING name`),
  )
}

/** Removes a group mapping. Returns false if there is none. */
export const removeGroupMapping = (queries: Queries, authorizer: string, name: string): Promise<boolean> =>
  removeNamed(queries, 'mapping', authorizer, name)

/**
 * Claims the one-time initialization of an authenticator or authorizer. Returns false if it has ever been claimed
 * before.
 */
export async function claimInitialization(
  transaction: Queries,
  kind: 'authenticator' | 'authorizer',
  name: string,
): Promise<boolean> {
  const rows = await transaction.query(sql`
    INSERT INTO security_initialized (kind, name) VALUES (${kind}, ${name}) ON CONFLICT DO NOTHING RETURNING name`)
  return rows.length === 1
}

/** Stores a user of an authenticator, unless it already exists. */
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

/** Stores a user of an authorizer with a role that has `permissions`. Existing users and roles do not change. */
export async function saveUserWithRole(
  transaction: Queries,
  authorizer: string,
  name: string,
  role: string,
  permissions: readonly Permission[],
): Promise<void> {
  await saveRole(transaction, authorizer, role, permissions)
  await transaction.query(
    sql`INSERT INTO authorization_users (authorizer, name) VALUES (${authorizer}, ${name}) ON CONFLICT DO NOTHING`,
  )
  await transaction.query(sql`
    INSERT INTO authorization_user_roles (authorizer, user_name, role_name)
    VALUES (${authorizer}, ${name}, ${role}) ON CONFLICT DO NOTHING`)
}

/** Adds a role with its permissions, unless a role with this name exists. */
export async function saveRole(
  transaction: Queries,
  authorizer: string,
  role: string,
  permissions: readonly Permission[],
): Promise<void> {
  await transaction.query(sql`
    INSERT INTO authorization_roles (authorizer, name, permissions)
    VALUES (${authorizer}, ${role}, ${JSON.stringify(permissions)}) ON CONFLICT DO NOTHING`)
}

/** Increments the version, and notifies all listening servers when the transaction commits. */
export async function announceSecurityChange(transaction: Queries): Promise<void> {
  await transaction.query(sql`UPDATE security_version SET version = version + 1`)
  await transaction.query(sql`SELECT pg_notify(${securityChannel}, '')`)
}
