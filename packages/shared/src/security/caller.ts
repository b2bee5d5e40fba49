import {
  type Access,
  compilePermissions,
  filteredGroups,
  isAllowed,
  mappingsOf,
  type Permission,
  permissionsOf,
  permissionsOfRoles,
  type ResourceType,
} from '@svc/domain/access'
import type { Settings } from '../config/index.ts'
import { compileNamePattern } from './name-pattern.ts'
import type { AuthorizerDirectory, SecurityDirectory } from './users-and-roles.ts'

/** Whoever makes a request, and what that caller may do. */
export interface Caller {
  /** The proved user name, or the name of the authenticator that lets everyone in. */
  readonly identity: string
  /** The authenticator that proved it; empty for nobody. */
  readonly authenticator: string
  /** The groups of the user in a directory. */
  readonly groups: readonly string[]
  /** Whether answers are as recorded where ours are stricter. */
  readonly compatibility: boolean
  can(action: 'READ' | 'WRITE', type: ResourceType, name: string): boolean
  /** Whether any permission grants the action on resources of the type, whatever their names. */
  hasAny(action: 'READ' | 'WRITE', type: ResourceType): boolean
  /** Whether lists that the recorded system shows whole show this datasource: by READ on it, or by compatibility. */
  sees(dataSource: string): boolean
}

/** The caller before any login: may do nothing that needs a permission. */
export const nobody: Caller = {
  identity: '',
  authenticator: '',
  groups: [],
  compatibility: false,
  can: () => false,
  hasAny: () => false,
  sees: () => false,
}

/** A caller who may do everything: the allowAll authorizer. */
export const unrestricted = (identity: string, authenticator: string): Caller => ({
  identity,
  authenticator,
  groups: [],
  compatibility: false,
  can: () => true,
  hasAny: () => true,
  sees: () => true,
})

/** How an authorizer decides. */
export interface AuthorizerOptions {
  /** The patterns of directory groups that count, where roles come from group mappings; undefined where they do not. */
  readonly groupFilters: readonly string[] | undefined
  readonly compatibility: boolean
}

/** The options of an authorizer as configured. */
export function authorizerOptions(settings: Settings, authorizer: string): AuthorizerOptions {
  const mapped = settings.getNamed('svc.auth.authorizer.<name>.roleProvider.type', authorizer) === 'ldap'
  return {
    groupFilters: mapped
      ? settings.getNamed('svc.auth.authorizer.<name>.roleProvider.groupFilters', authorizer)
      : undefined,
    compatibility: settings.getNamed('svc.auth.authorizer.<name>.compatibility', authorizer),
  }
}

/** Whether an authorizer allows everything to everyone. */
export const allowsEverything = (settings: Settings, authorizer: string): boolean =>
  authorizer === 'allowAll' || settings.getNamed('svc.auth.authorizer.<name>.type', authorizer) === 'allowAll'

/** The permissions of a user by its own roles and by those of its directory groups. */
function permissionsOfCaller(
  directory: AuthorizerDirectory,
  identity: string,
  groups: readonly string[],
  { groupFilters }: AuthorizerOptions,
): readonly Permission[] {
  if (groupFilters === undefined || groups.length === 0) return permissionsOf(directory, identity)
  const mapped = mappingsOf(directory, filteredGroups(groups, groupFilters)).flatMap(({ roles }) => roles)
  return [...permissionsOf(directory, identity), ...permissionsOfRoles(directory, [...new Set(mapped)])]
}

/** A caller whose roles an authorizer's directory tells. */
function permittedCaller(
  identity: string,
  authenticator: string,
  groups: readonly string[],
  permissions: readonly Permission[],
  compatibility: boolean,
): Caller {
  const compiled = compilePermissions(permissions, compileNamePattern, { compatibility })
  const can: Caller['can'] = (action, type, name) => isAllowed(compiled, { action, type, name })
  return {
    identity,
    authenticator,
    groups,
    compatibility,
    can,
    hasAny: (action, type) =>
      compiled.some((permission) => permission.action === action && permission.type === type),
    sees: (dataSource) => compatibility || can('READ', 'DATASOURCE', dataSource),
  }
}

/** Whether permissions grant an access. */
export function permits(
  permissions: readonly Permission[],
  access: Access,
  options: { readonly compatibility?: boolean } = {},
): boolean {
  return isAllowed(compilePermissions(permissions, compileNamePattern, options), access)
}

/** Makes the caller of a login; `groups` are those of the user in a directory. */
export type CallerOf = (
  authenticator: string,
  identity: string,
  groups: readonly string[],
  directory: SecurityDirectory,
) => Caller

// Users of a directory are many, and each may come with groups of its own.
const mostCallers = 10_000
const noAuthorizer: AuthorizerDirectory = { users: {}, roles: {}, groupMappings: {} }

/** Callers with their compiled permissions, kept as long as the directory they were made from. */
export function createCallerCache(settings: Settings): CallerOf {
  let madeFrom: SecurityDirectory | undefined
  const callers = new Map<string, Caller>()
  return (authenticator, identity, groups, directory) => {
    if (madeFrom !== directory || callers.size >= mostCallers) {
      callers.clear()
      madeFrom = directory
    }
    const key = JSON.stringify([authenticator, identity, groups])
    const cached = callers.get(key)
    if (cached) return cached
    const authorizer = settings.getNamed('svc.auth.authenticator.<name>.authorizerName', authenticator) ?? ''
    const known = Object.hasOwn(directory.authorizers, authorizer)
      ? directory.authorizers[authorizer]
      : undefined
    const options = authorizerOptions(settings, authorizer)
    const caller = allowsEverything(settings, authorizer)
      ? unrestricted(identity, authenticator)
      : permittedCaller(
          identity,
          authenticator,
          groups,
          permissionsOfCaller(known ?? noAuthorizer, identity, groups, options),
          options.compatibility,
        )
    callers.set(key, caller)
    return caller
  }
}
