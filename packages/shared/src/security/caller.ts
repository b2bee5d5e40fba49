import {
  type Access,
  type AuthorizerRoles,
  type CompiledPermission,
  type CompilePattern,
  compilePermission,
  filteredGroups,
  grants,
  mappingsOf,
  type Permission,
  permissionsOf,
  permissionsOfRoles,
  type ResourceType,
} from '@svc/domain/access'
import { finish } from '@svc/domain/steps'
import type { Settings } from '../config/index.ts'
import { finishInSlices } from '../slices/index.ts'
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
  /** Returns whether a permission grants the action on a resource that is not a datasource. */
  can(action: 'READ' | 'WRITE', type: Exclude<ResourceType, 'DATASOURCE'>, name: string): boolean
  /**
   * Decides whether a permission grants the action on a datasource, and yields regularly, because a caller may have thousands of
   * complex patterns. `mayAccess` and the functions for lists run it.
   */
  decide(action: 'READ' | 'WRITE', dataSource: string): Generator<undefined, boolean>
  /** Returns whether any permission grants the action on some resource of the type. */
  hasAny(action: 'READ' | 'WRITE', type: ResourceType): boolean
}

/** Returns a decision without a step. */
export function* decided(decision: boolean): Generator<undefined, boolean> {
  yield* []
  return decision
}

/** A caller without a login and without permissions. */
export const anonymousCaller: Caller = {
  identity: '',
  authenticator: '',
  groups: [],
  compatibility: false,
  can: () => false,
  decide: () => decided(false),
  hasAny: () => false,
}

/** Returns a caller that may do everything: the allowAll authorizer. */
export const unrestricted = (identity: string, authenticator: string): Caller => ({
  identity,
  authenticator,
  groups: [],
  compatibility: false,
  can: () => true,
  decide: () => decided(true),
  hasAny: () => true,
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

/** Compiles permissions. Pauses regularly, because a user may have thousands of expensive patterns. */
function* compileInSteps(
  permissions: readonly Permission[],
  compilePattern: CompilePattern,
  compatibility: boolean,
): Generator<undefined, CompiledPermission[]> {
  const compiled: CompiledPermission[] = []
  for (const permission of permissions) {
    compiled.push(compilePermission(permission, compilePattern, { compatibility }))
    yield
  }
  return compiled
}

/** Returns a caller with these permissions. */
async function permittedCaller(
  identity: string,
  authenticator: string,
  groups: readonly string[],
  permissions: readonly Permission[],
  compatibility: boolean,
  compilePattern: CompilePattern,
  decisions: Decisions,
): Promise<Caller> {
  const compiled = await finishInSlices(compileInSteps(permissions, compilePattern, compatibility))
  const decide = decisions.remember(compiled)
  return {
    identity,
    authenticator,
    groups,
    compatibility,
    can: (action, type, name) => finish(decide({ action, type, name })),
    decide: (action, name) => decide({ action, type: 'DATASOURCE', name }),
    hasAny: (action, type) =>
      compiled.some((permission) => permission.action === action && permission.type === type),
  }
}

/** Returns whether permissions grant an access. Yields before the next few patterns; a name takes up to 0.1 ms for each. */
function* decideInSteps(
  permissions: readonly CompiledPermission[],
  access: Access,
): Generator<undefined, boolean> {
  for (const [index, permission] of permissions.entries()) {
    if (grants(permission, access)) return true
    if (index % 8 === 7) yield
  }
  return false
}

/** Returns whether permissions grant an access. */
export function permits(
  permissions: readonly Permission[],
  access: Access,
  options: { readonly compatibility?: boolean } = {},
): boolean {
  return permissions.some((one) => grants(compilePermission(one, compileNamePattern, options), access))
}

/** Returns the caller for a login; `groups` are the directory groups of the user. Equal concurrent calls share the work. */
export type CallerOf = (
  authenticator: string,
  identity: string,
  groups: readonly string[],
  current: UsersAndRoles,
) => Promise<Caller>

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

/** Remembers what callers may access: comparing one name with thousands of patterns takes milliseconds. */
interface Decisions {
  /** Returns a function that decides in steps whether permissions grant an access, and remembers the decision. */
  remember(permissions: readonly CompiledPermission[]): (access: Access) => Generator<undefined, boolean>
  clear(): void
}

// Of all callers together.
const maxDecisions = 200_000

function createDecisions(): Decisions {
  const memories = new Set<Map<string, boolean>>()
  let count = 0
  const clear = (): void => {
    for (const memory of memories) memory.clear()
    count = 0
  }
  return {
    remember: (permissions) => {
      const memory = new Map<string, boolean>()
      memories.add(memory)
      return function* (access) {
        const key = `${access.action} ${access.type} ${access.name}`
        const known = memory.get(key)
        if (known !== undefined) return known
        const decision = yield* decideInSteps(permissions, access)
        if (count >= maxDecisions) clear()
        memory.set(key, decision)
        count += 1
        return decision
      }
    },
    clear: () => {
      clear()
      memories.clear()
    },
  }
}

/** Caches callers with their compiled permissions until users or roles change. */
export function createCallerCache(settings: Settings): CallerOf {
  let createdFrom: UsersAndRoles | undefined
  const callers = new Map<string, Promise<Caller>>()
  const compilePattern = createPatternCache()
  const decisions = createDecisions()
  return (authenticator, identity, groups, current) => {
    if (createdFrom !== current || callers.size >= maxCallers) {
      callers.clear()
      decisions.clear()
      createdFrom = current
    }
    const key = JSON.stringify([authenticator, identity, groups])
    const cached = callers.get(key)
    if (cached) return cached
    const authorizer = settings.getNamed('svc.auth.authenticator.<name>.authorizerName', authenticator) ?? ''
    const known = Object.hasOwn(current.authorizers, authorizer) ? current.authorizers[authorizer] : undefined
    const options = authorizerOptions(settings, authorizer)
    const caller = allowsEverything(settings, authorizer)
      ? Promise.resolve(unrestricted(identity, authenticator))
      : permittedCaller(
          identity,
          authenticator,
          groups,
          permissionsOfCaller(known ?? noAuthorizer, identity, groups, options),
          options.compatibility,
          compilePattern,
          decisions,
        )
    callers.set(key, caller)
    return caller
  }
}
