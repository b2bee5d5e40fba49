import type { Permission } from '@svc/domain/access'
import type { Credentials } from '../security/index.ts'
import { type AuditEntry, saveAudit } from './audit.ts'
import { type Database, type Queries, sql, type Transaction } from './database.ts'
import { securityChannel } from './security-directory.ts'

/** Who makes a change, and what it is about. */
export type SecurityAudit = Omit<AuditEntry, 'type' | 'payload'> & { readonly payload: unknown }

/** The type of the audit entries of users, roles and mappings. */
export const securityAuditType = 'security'

/**
 * Makes one change of users, roles or mappings: one at a time in the whole cluster, with its audit entry, told to
 * every server when it is committed.
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

/** Makes a user that can be given a password; false if it exists. */
export async function addAuthenticationUser(
  queries: Queries,
  authenticator: string,
  name: string,
): Promise<boolean> {
  return changed(
    await queries.query(sql`
      INSERT INTO authentication_users (authenticator, name) VALUES (${authenticator}, ${name})
      ON CONFLICT DO NOTHING RETURNING name`),
  )
}

/** Gives a user a password; false if there is no such user. */
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

/** Puts another hash of the same password in place of one, and tells the servers; nothing where it was replaced. */
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

/** Removes a user that can log in; false if there is none. */
export async function removeAuthenticationUser(
  queries: Queries,
  authenticator: string,
  name: string,
): Promise<boolean> {
  return changed(
    await queries.query(sql`
      DELETE FROM authentication_users WHERE authenticator = ${authenticator} AND name = ${name} RETURNING name`),
  )
}

/** Makes a user of an authorizer; false if it exists. */
export async function addAuthorizationUser(
  queries: Queries,
  authorizer: string,
  name: string,
): Promise<boolean> {
  return changed(
    await queries.query(sql`
      INSERT INTO authorization_users (authorizer, name) VALUES (${authorizer}, ${name})
      ON CONFLICT DO NOTHING RETURNING name`),
  )
}

/** Removes a user of an authorizer with its assignments; false if there is none. */
export async function removeAuthorizationUser(
  queries: Queries,
  authorizer: string,
  name: string,
): Promise<boolean> {
  return changed(
    await queries.query(sql`
      DELETE FROM authorization_users WHERE authorizer = ${authorizer} AND name = ${name} RETURNING name`),
  )
}

/** Makes a role without permissions; false if it exists. */
export async function addRole(queries: Queries, authorizer: string, name: string): Promise<boolean> {
  return changed(
    await queries.query(sql`
      INSERT INTO authorization_roles (authorizer, name, permissions) VALUES (${authorizer}, ${name}, '[]')
      ON CONFLICT DO NOTHING RETURNING name`),
  )
}

/** Replaces the permissions of a role; false if there is no such role. */
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

/** Removes a role from its users and mappings and for good; false if there is none. */
export async function removeRole(queries: Queries, authorizer: string, name: string): Promise<boolean> {
  return changed(
    await queries.query(sql`
      DELETE FROM authorization_roles WHERE authorizer = ${authorizer} AND name = ${name} RETURNING name`),
  )
}

/** Gives a user a role; false if it has it. Both must exist. */
export async function assignRole(
  queries: Queries,
  authorizer: string,
  user: string,
  role: string,
): Promise<boolean> {
  return changed(
    await queries.query(sql`
      INSERT INTO authorization_user_roles (authorizer, user_name, role_name)
      VALUES (${authorizer}, ${user}, ${role}) ON CONFLICT DO NOTHING RETURNING user_name`),
  )
}

/** Takes a role from a user; false if it did not have it. */
export async function unassignRole(
  queries: Queries,
  authorizer: string,
  user: string,
  role: string,
): Promise<boolean> {
  return changed(
    await queries.query(sql`
      DELETE FROM authorization_user_roles
      WHERE authorizer = ${authorizer} AND user_name = ${user} AND role_name = ${role} RETURNING user_name`),
  )
}

/** Makes a group mapping without roles; false if it exists. */
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

/** Removes a group mapping; false if there is none. */
export async function removeGroupMapping(
  queries: Queries,
  authorizer: string,
  name: string,
): Promise<boolean> {
  return changed(
    await queries.query(sql`
      DELETE FROM authorization_group_mappings WHERE authorizer = ${authorizer} AND name = ${name} RETURNING name`),
  )
}

/** Gives a group mapping a role; false if it has it. Both must exist. */
export async function assignMappingRole(
  queries: Queries,
  authorizer: string,
  mapping: string,
  role: string,
): Promise<boolean> {
  return changed(
    await queries.query(sql`
      INSERT INTO authorization_group_mapping_roles (authorizer, mapping_name, role_name)
      VALUES (${authorizer}, ${mapping}, ${role}) ON CONFLICT DO NOTHING RETURNING mapping_name`),
  )
}

/** Takes a role from a group mapping; false if it did not have it. */
export async function unassignMappingRole(
  queries: Queries,
  authorizer: string,
  mapping: string,
  role: string,
): Promise<boolean> {
  return changed(
    await queries.query(sql`
      DELETE FROM authorization_group_mapping_roles
      WHERE authorizer = ${authorizer} AND mapping_name = ${mapping} AND role_name = ${role}
      RETURNING mapping_name`),
  )
}

/** Something of users or roles that is made once; false if it has been made before, whatever became of it. */
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

/** Stores a user of an authorizer with a role that holds `permissions`; what is there already is left alone. */
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

/** Adds a role with its permissions, unless there is one of this name. */
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

/** Counts the version up and tells every listening server, when the transaction ends well. */
export async function announceSecurityChange(transaction: Queries): Promise<void> {
  await transaction.query(sql`UPDATE security_version SET version = version + 1`)
  await transaction.query(sql`SELECT pg_notify(${securityChannel}, '')`)
}
