import { type AuthorizerRoles, filteredGroups, mappingsOf } from './authorizer-roles.ts'
import {
  type Access,
  type CompileOptions,
  type CompilePattern,
  compilePermission,
  grants,
  type Permission,
} from './permission.ts'

/** Why access is granted or denied: the user's roles, where they come from, and the relevant permissions. */
export interface AccessExplanation {
  readonly groups: readonly { readonly group: string; readonly counts: boolean }[]
  readonly mappings: readonly {
    readonly mapping: string
    readonly group: string
    readonly roles: readonly string[]
  }[]
  readonly roles: readonly {
    readonly role: string
    readonly from: readonly string[]
    readonly exists: boolean
  }[]
  /** The permissions for the requested type and action, and whether each grants the access; null if it depends on the name. */
  readonly permissions: readonly {
    readonly role: string
    readonly permission: Permission
    readonly grants: boolean | null
  }[]
  /** Null if it depends on the name. */
  readonly allowed: boolean | null
}

/** An access to explain. Without a name, it depends on the request. */
export type ExplainedAccess = Omit<Access, 'name'> & Partial<Pick<Access, 'name'>>

/** The user to explain, with LDAP groups. `groupFilters` is undefined if the authorizer ignores groups. */
export interface ExplainedUser {
  readonly user: string
  readonly groups: readonly string[]
  readonly groupFilters: readonly string[] | undefined
}

/** Explains whether a user has an access. Without an access, explains only the roles. */
export function explainAccess(
  stored: AuthorizerRoles,
  { user, groups, groupFilters }: ExplainedUser,
  access: ExplainedAccess | undefined,
  compilePattern: CompilePattern,
  options: CompileOptions,
): AccessExplanation {
  const counted = groupFilters === undefined ? [] : filteredGroups(groups, groupFilters)
  const mappings = mappingsOf(stored, counted)
  const sources = new Map<string, string[]>()
  const add = (role: string, from: string) => sources.set(role, [...(sources.get(role) ?? []), from])
  if (Object.hasOwn(stored.users, user)) for (const role of stored.users[user] ?? []) add(role, 'user')
  for (const { mapping, roles } of mappings) for (const role of roles) add(role, `group mapping [${mapping}]`)
  const permissions =
    access === undefined
      ? []
      : [...sources.keys()].flatMap((role) =>
          (Object.hasOwn(stored.roles, role) ? (stored.roles[role] ?? []) : [])
            .filter(
              (permission) => permission.resource.type === access.type && permission.action === access.action,
            )
            .map((permission) => ({
              role,
              permission,
              grants: isNamed(access)
                ? grants(compilePermission(permission, compilePattern, options), access)
                : permission.resource.name === everyName || null,
            })),
        )
  return {
    groups: groups.map((group) => ({ group, counts: counted.includes(group) })),
    mappings,
    roles: [...sources].map(([role, from]) => ({ role, from, exists: Object.hasOwn(stored.roles, role) })),
    permissions,
    allowed:
      permissions.some(({ grants }) => grants) ||
      (permissions.some(({ grants }) => grants === null) ? null : false),
  }
}

const everyName = '.*'

const isNamed = (access: ExplainedAccess): access is Access => access.name !== undefined
