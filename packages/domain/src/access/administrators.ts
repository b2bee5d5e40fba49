import { compileGroupPattern } from './group-pattern.ts'
import type { Permission } from './permission.ts'

/** The names that one authorizer knows: roles by user, permissions by role. */
export interface RoleDirectory {
  readonly users: Readonly<Record<string, readonly string[]>>
  readonly roles: Readonly<Record<string, readonly Permission[]>>
}

/** The same with the roles of the members of directory groups. */
export interface MappedRoleDirectory extends RoleDirectory {
  readonly groupMappings: Readonly<
    Record<string, { readonly groupPattern: string; readonly roles: readonly string[] }>
  >
}

/** The permissions of all roles of a user. */
export function permissionsOf({ users, roles }: RoleDirectory, user: string): readonly Permission[] {
  const assigned = Object.hasOwn(users, user) ? (users[user] ?? []) : []
  return permissionsOfRoles({ roles }, assigned)
}

/** The permissions of these roles, without those that do not exist. */
export function permissionsOfRoles(
  { roles }: Pick<RoleDirectory, 'roles'>,
  names: readonly string[],
): readonly Permission[] {
  return names.flatMap((role) => (Object.hasOwn(roles, role) ? (roles[role] ?? []) : []))
}

/** The mappings that select a group of the user, each with one group that it selects. */
export function mappingsOf(
  { groupMappings }: Pick<MappedRoleDirectory, 'groupMappings'>,
  groups: readonly string[],
): { readonly mapping: string; readonly group: string; readonly roles: readonly string[] }[] {
  return Object.entries(groupMappings).flatMap(([mapping, { groupPattern, roles }]) => {
    const matches = compileGroupPattern(groupPattern)
    const group = groups.find(matches)
    return group === undefined ? [] : [{ mapping, group, roles }]
  })
}

/** The groups that a list of patterns lets through; all where there is no list. */
export function filteredGroups(
  groups: readonly string[],
  filters: readonly string[] | undefined,
): readonly string[] {
  if (filters === undefined || filters.length === 0) return groups
  const matchers = filters.map(compileGroupPattern)
  return groups.filter((group) => matchers.some((matches) => matches(group)))
}
