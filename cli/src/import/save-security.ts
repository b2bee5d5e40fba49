import type { Permission } from '@svc/domain/access'
import {
  addAuthenticationUser,
  addAuthorizationUser,
  addGroupMapping,
  assignRole,
  changeSecurity,
  type Database,
  type SecurityAudit,
  saveRole,
  type Transaction,
} from '@svc/shared/postgres'
import { authenticatorName, authorizerName, internalUser } from '../cluster/index.ts'
import type { SourceAuthorizer, SourceSecurity } from '../snapshot/index.ts'

/** The users, roles, and group mappings that a home gets. */
export interface ImportedSecurity {
  /** Users who could log in to the source. They have no password here. */
  readonly logins: ReadonlySet<string>
  readonly authorizer: SourceAuthorizer
  /** Users and roles that every home has and that are not replaced. */
  readonly keptOwn: readonly string[]
  /** Roles that several authorizers of the source have; the first one counts. */
  readonly duplicateRoles: readonly string[]
}

/** The administrator and the user of the servers, and their roles. Every home creates its own. */
const ownNames = new Set(['admin', internalUser])

/** The users of a home, which has one authenticator and one authorizer: those of all stores of the source together. */
export function securityOfHome({ authenticators, authorizers }: SourceSecurity): ImportedSecurity {
  const keptOwn = new Set<string>()
  const duplicateRoles = new Set<string>()
  const isOwn = (name: string): boolean => {
    if (ownNames.has(name)) keptOwn.add(name)
    return ownNames.has(name)
  }
  const roles = new Map<string, readonly Permission[]>()
  const users = new Map<string, readonly string[]>()
  const groupMappings = new Map<string, { groupPattern: string; roles: readonly string[] }>()
  for (const one of authorizers.values()) {
    for (const [role, permissions] of one.roles) {
      if (isOwn(role)) continue
      if (roles.has(role)) duplicateRoles.add(role)
      else roles.set(role, permissions)
    }
    for (const [user, assigned] of one.users)
      if (!isOwn(user)) users.set(user, [...new Set([...(users.get(user) ?? []), ...assigned])])
    for (const [name, mapping] of one.groupMappings)
      if (!groupMappings.has(name)) groupMappings.set(name, mapping)
  }
  const logins = new Set([...authenticators.values()].flat().filter((name) => !isOwn(name)))
  return {
    logins,
    authorizer: { roles, users, groupMappings },
    keptOwn: [...keptOwn].sort(),
    duplicateRoles: [...duplicateRoles].sort(),
  }
}

/** Stores users, roles, and group mappings in a new home. Its own administrator is created when it starts. */
export async function saveSecurity(
  database: Database,
  { logins, authorizer }: ImportedSecurity,
  author: Omit<SecurityAudit, 'key' | 'payload'>,
  now: number,
): Promise<void> {
  const { roles, users, groupMappings } = authorizer
  const payload = { users: [...new Set([...logins, ...users.keys()])], roles: [...roles.keys()] }
  await changeSecurity(database, { ...author, key: 'import', payload }, now, async (transaction) => {
    for (const [role, permissions] of roles)
      await saveRole(transaction, authorizerName, role, [...permissions])
    for (const user of logins) await addAuthenticationUser(transaction, authenticatorName, user)
    for (const [user, assigned] of users) await saveUser(transaction, user, assigned, roles)
    for (const [name, { groupPattern, roles: assigned }] of groupMappings) {
      await addGroupMapping(transaction, authorizerName, name, groupPattern)
      for (const role of assigned)
        if (roles.has(role)) await assignRole(transaction, authorizerName, 'mapping', name, role)
    }
  })
}

async function saveUser(
  transaction: Transaction,
  user: string,
  assigned: readonly string[],
  roles: SourceAuthorizer['roles'],
): Promise<void> {
  await addAuthorizationUser(transaction, authorizerName, user)
  for (const role of assigned)
    if (roles.has(role)) await assignRole(transaction, authorizerName, 'user', user, role)
}
