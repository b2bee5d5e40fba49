import {
  type Access,
  type AuthorizerRoles,
  type CompilePattern,
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
import type { UsersAndRoles } from './users-and-roles.ts'

/** The caller of a request and its permissions. */
export interface Caller {
  /** The authenticated user name, or the name of the authenticator that accepts everyone. */
  readonly identity: string
  /** The authenticator that accepted the caller; empty without a login. */
  readonly authenticator: string
  /** The groups of the user in a directory. */
  readonly groups: readonly string[]
  /** Whether to use Druid 37's less strict access checks. */
  readonly compatibility: boolean
  can(action: 'READ' | 'WRITE', type: ResourceType, name: string): boolean
  /** Returns whether any permission grants the action on some resource of the type. */
  hasAny(action: 'READ' | 'WRITE', type: ResourceType): boolean
  /**
   * Returns whether lists include this datasource: with READ on it, or in compatibility mode, as Druid 37 does not
   * filter.
   */
  sees(dataSource: string): boolean
}

/** A caller without a login and without permissions. */
export const anonymousCaller: Caller = {
  identity: '',
  authenticator: '',
  groups: [],
  compatibility: false,
  can: () => false,
  hasAny: () => false,
  sees: () => false,
}

/** Returns a caller that may do everything: the allowAll authorizer. */
export const unrestricted = (identity: string, authenticator: string): Caller => ({
  identity,
  authenticator,
  groups: [],
  compatibility: false,
  can: () => true,
  hasAny: () => true,
  sees: () => true,
})

/** Options of an authorizer. */
export interface AuthorizerOptions {
  /** The patterns for directory groups that grant roles; undefined without group mappings. */
  readonly groupFilters: readonly string[] | undefined
  readonly compatibility: boolean
}

/** Returns the configured options of an authorizer. */
export function authorizerOptions(settings: Settings, authorizer: string): AuthorizerOptions {
  const mapped = settings.getNamed('svc.auth.authorizer.<name>.roleProvider.type', authorizer) === 'ldap'
  return {
    groupFilters: mapped
      ? settings.getNamed('svc.auth.authorizer.<name>.roleProvider.groupFilters', authorizer)
      : undefined,
    compatibility: settings.getNamed('svc.auth.authorizer.<name>.compatibility', authorizer),
  }
}

/** Returns whether an authorizer allows everything to everyone. */
export const allowsEverything = (settings: Settings, authorizer: string): boolean =>
  authorizer === 'allowAll' || settings.getNamed('svc.auth.authorizer.<name>.type', authorizer) === 'allowAll'

/** Returns the permissions of a user from its own roles and from those of its directory groups. */
function permissionsOfCaller(
  stored: AuthorizerRoles,
  identity: string,
  groups: readonly string[],
  { groupFilters }: AuthorizerOptions,
): readonly Permission[] {
  if (groupFilters === undefined || groups.length === 0) return permissionsOf(stored, identity)
  const mapped = mappingsOf(stored, filteredGroups(groups, groupFilters)).flatMap(({ roles }) => roles)
  return [...permissionsOf(stored, identity), ...permissionsOfRoles(stored, [...new Set(mapped)])]
}

/** Returns a caller with these permissions. */
function permittedCaller(
  identity: string,
  authenticator: string,
  groups: readonly string[],
  permissions: readonly Permission[],
  compatibility: boolean,
  compilePattern: CompilePattern,
): Caller {
  const compiled = compilePermissions(permissions, compilePattern, { compatibility })
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

/** Returns whether permissions grant an access. */
export function permits(
  permissions: readonly Permission[],
  access: Access,
  options: { readonly compatibility?: boolean } = {},
): boolean {
  return isAllowed(compilePermissions(permissions, compileNamePattern, options), access)
}

/** Returns the caller for a login; `groups` are the directory groups of the user. */
export type CallerOf = (
  authenticator: string,
  identity: string,
  groups: readonly string[],
  current: UsersAndRoles,
) => Caller

// A directory may have many users, each with different groups.
const maxCallers = 10_000
const noAuthorizer: AuthorizerRoles = { users: {}, roles: {}, groupMappings: {} }

// More patterns than the permissions of any cluster contain.
const maxPatterns = 100_000

/** Keeps compiled patterns, because compiling the permissions of all callers again after each change of a role takes long. */
function createPatternCache(): CompilePattern {
  const compiled = new Map<string, ReturnType<CompilePattern>>()
  return (pattern) => {
    const known = compiled.get(pattern)
    if (known) return known
    if (compiled.size >= maxPatterns) compiled.clear()
    const matches = compileNamePattern(pattern)
    compiled.set(pattern, matches)
    return matches
  }
}

/** Caches callers with their compiled permissions until users or roles change. */
export function createCallerCache(settings: Settings): CallerOf {
  let createdFrom: UsersAndRoles | undefined
  const callers = new Map<string, Caller>()
  const compilePattern = createPatternCache()
  return (authenticator, identity, groups, current) => {
    if (createdFrom !== current || callers.size >= maxCallers) {
      callers.clear()
      createdFrom = current
    }
    const key = JSON.stringify([authenticator, identity, groups])
    const cached = callers.get(key)
    if (cached) return cached
    const authorizer = settings.getNamed('svc.auth.authenticator.<name>.authorizerName', authenticator) ?? ''
    const known = Object.hasOwn(current.authorizers, authorizer) ? current.authorizers[authorizer] : undefined
    const options = authorizerOptions(settings, authorizer)
    const caller = allowsEverything(settings, authorizer)
      ? unrestricted(identity, authenticator)
      : permittedCaller(
          identity,
          authenticator,
          groups,
          permissionsOfCaller(known ?? noAuthorizer, identity, groups, options),
          options.compatibility,
          compilePattern,
        )
    callers.set(key, caller)
    return caller
  }
}
