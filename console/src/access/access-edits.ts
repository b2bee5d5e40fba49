import type { GroupMapping, PermissionJson, UsersAndRoles } from '../answers/index.ts'
import type { Change, SentChange } from './change.ts'
import { assignmentPath, roleChange } from './role-change.ts'

/** Users, roles, and group mappings, with the path at which they are changed. */
type Access = Pick<UsersAndRoles, 'accountsPath' | 'users' | 'roles' | 'mappings'>

/** A permission of a role in the form: the actions on one resource. */
export interface PermissionRow {
  readonly type: string
  /** A regular expression. */
  readonly name: string
  readonly canRead: boolean
  readonly canWrite: boolean
}

/** Returns permissions as rows, one for each resource. */
export function rowsOf(permissions: readonly PermissionJson[]): PermissionRow[] {
  const byResource = Map.groupBy(permissions, ({ resource: { type, name } }) => `${type} ${name}`)
  return [...byResource.values()].map((list) => {
    const { type, name } = list[0]!.resource
    const can = (action: PermissionJson['action']) => list.some((one) => one.action === action)
    return { type, name, canRead: can('READ'), canWrite: can('WRITE') }
  })
}

/** Returns the permissions of rows. Rows without an action have none. */
export const permissionsOf = (rows: readonly PermissionRow[]): PermissionJson[] =>
  rows.flatMap(({ type, name, canRead, canWrite }) => {
    const resource = { type, name }
    return [
      ...(canRead ? [{ resource, action: 'READ' as const }] : []),
      ...(canWrite ? [{ resource, action: 'WRITE' as const }] : []),
    ]
  })

/** Returns a permission as text. */
export const permissionText = ({ resource: { type, name }, action }: PermissionJson): string =>
  type === name ? `${action} on ${type}` : `${action} on ${type} ${name}`

/** Returns the users and group mappings that have a role. */
export const holdersOf = ({ users, mappings }: Access, role: string) => ({
  users: Object.keys(users).filter((user) => users[user]!.includes(role)),
  mappings: Object.keys(mappings).filter((mapping) => mappings[mapping]!.roles.includes(role)),
})

const rolePath = ({ accountsPath }: Access, role: string): string =>
  `${accountsPath}/roles/${encodeURIComponent(role)}`
const mappingPath = ({ accountsPath }: Access, mapping: string): string =>
  `${accountsPath}/groupMappings/${encodeURIComponent(mapping)}`

/** Returns the permissions of a role as sorted texts. A role that does not exist has none. */
export const permissionTexts = ({ roles }: Pick<Access, 'roles'>, role: string): string[] =>
  (Object.hasOwn(roles, role) ? roles[role]! : []).map(permissionText).sort()

/** Returns the roles of a user as sorted names. */
export const rolesOf = ({ users }: Pick<Access, 'users'>, user: string): string[] =>
  (Object.hasOwn(users, user) ? users[user]! : []).toSorted()

/** Returns a group mapping as lines, in an order that does not matter. One that does not exist has none. */
export const mappingLines = (mapping: GroupMapping | undefined): string[] =>
  mapping === undefined
    ? []
    : [`groups: ${mapping.groupPattern}`, ...mapping.roles.toSorted().map((role) => `role: ${role}`)]

/** Returns the changes that create a role with permissions, or replace the permissions of an existing one. */
export function saveRole(access: Access, role: string, permissions: readonly PermissionJson[]): Change[] {
  const path = rolePath(access, role)
  const before = Object.hasOwn(access.roles, role) ? access.roles[role] : undefined
  const store = (list: readonly PermissionJson[]): SentChange => ({
    method: 'POST',
    path: `${path}/permissions`,
    body: list,
  })
  if (before !== undefined) return [{ ...store(permissions), undo: [store(before)] }]
  return [{ method: 'POST', path, undo: [{ method: 'DELETE', path }] }, store(permissions)]
}

/** Returns the change that deletes a role, which can be undone with all its permissions, users, and group mappings. */
export function deleteRole(access: Access, role: string): Change[] {
  const { users, mappings } = holdersOf(access, role)
  const assign = (path: string): SentChange => ({ method: 'POST', path })
  const undo = [
    ...saveRole({ ...access, roles: {} }, role, access.roles[role] ?? []),
    ...users.map((user) => assign(assignmentPath(access, 'users', user, role))),
    ...mappings.map((mapping) => assign(assignmentPath(access, 'groupMappings', mapping, role))),
  ]
  return [{ method: 'DELETE', path: rolePath(access, role), undo }]
}

/**
 * Returns the changes that create a group mapping, or give an existing one other roles. A mapping with another pattern is
 * created again, because its pattern cannot be changed.
 */
export function saveMapping(
  access: Access,
  mapping: string,
  { groupPattern, roles }: GroupMapping,
): Change[] {
  const before = Object.hasOwn(access.mappings, mapping) ? access.mappings[mapping] : undefined
  const path = mappingPath(access, mapping)
  const create = (edit: GroupMapping): SentChange => ({
    method: 'POST',
    path,
    body: { name: mapping, ...edit },
  })
  const remove: SentChange = { method: 'DELETE', path }
  if (before === undefined) return [{ ...create({ groupPattern, roles }), undo: [remove] }]
  if (before.groupPattern !== groupPattern)
    return [
      { ...remove, undo: [create(before)] },
      { ...create({ groupPattern, roles }), undo: [remove] },
    ]
  const change = (role: string, isAssigned: boolean): Change =>
    roleChange(access, 'groupMappings', mapping, role, isAssigned)
  return [
    ...roles.filter((role) => !before.roles.includes(role)).map((role) => change(role, true)),
    ...before.roles.filter((role) => !roles.includes(role)).map((role) => change(role, false)),
  ]
}

/** Returns the change that deletes a group mapping, which can be undone. */
export function deleteMapping(access: Access, mapping: string): Change[] {
  const path = mappingPath(access, mapping)
  const { groupPattern = '', roles = [] } = access.mappings[mapping] ?? {}
  return [
    {
      method: 'DELETE',
      path,
      undo: [{ method: 'POST', path, body: { name: mapping, groupPattern, roles } }],
    },
  ]
}
