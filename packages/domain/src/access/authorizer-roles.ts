import { compileGroupPattern } from './ldap-group-pattern.ts'
import type { Permission } from './permission.ts'

/** Roles by user, and permissions by role. */
export interface UserRoles {
  readonly users: Readonly<Record<string, readonly string[]>>
  readonly roles: Readonly<Record<string, readonly Permission[]>>
}

/** The users and roles of one authorizer, and its mappings of LDAP groups to roles. */
export interface AuthorizerRoles extends UserRoles {
  readonly groupMappings: Readonly<
    Record<string, { readonly groupPattern: string; readonly roles: readonly string[] }>
  >
}

/** Returns the permissions of all roles of a user. */
export function permissionsOf({ users, roles }: UserRoles, user: string): readonly Permission[] {
  const assigned = Object.hasOwn(users, user) ? (users[user] ?? []) : []
  return permissionsOfRoles({ roles }, assigned)
}

/** Returns the permissions of these roles. Ignores roles that do not exist. */
export function permissionsOfRoles(
  { roles }: Pick<UserRoles, 'roles'>,
  names: readonly string[],
): readonly Permission[] {
  return names.flatMap((role) => (Object.hasOwn(roles, role) ? (roles[role] ?? []) : []))
}

/** Returns the mappings that match a group of the user, each with the first group that it matches. */
export function mappingsOf(
  { groupMappings }: Pick<AuthorizerRoles, 'groupMappings'>,
  groups: readonly string[],
): { readonly mapping: string; readonly group: string; readonly roles: readonly string[] }[] {
  return Object.entries(groupMappings).flatMap(([mapping, { groupPattern, roles }]) => {
    const matches = compileGroupPattern(groupPattern)
    const group = groups.find(matches)
    return group === undefined ? [] : [{ mapping, group, roles }]
  })
}

/** Returns the groups that match at least one filter, or all groups if there are no filters. */
export function filteredGroups(
  groups: readonly string[],
  filters: readonly string[] | undefined,
): readonly string[] {
  if (filters === undefined || filters.length === 0) return groups
  const matchers = filters.map(compileGroupPattern)
  return groups.filter((group) => matchers.some((matches) => matches(group)))
}
