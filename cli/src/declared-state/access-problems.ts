import { internalNeeds, parsePermissions, permissionsOf } from '@svc/domain/access'
import { Failure } from '@svc/domain/failure'
import { similarNames } from '@svc/domain/validation'
import { countNamePatternSteps, permits } from '@svc/shared/security'
import type { Change } from './changes.ts'
import type { DeclaredState, Problem } from './parse.ts'
import type { SectionKind } from './sections.ts'
import { fieldAt, keyOf, type LiveState } from './state.ts'

/**
 * Returns why a cluster would refuse changes of users and roles: users or group mappings get roles that do not exist, or
 * servers could no longer call each other. Otherwise, this would be noticed only after other changes were applied.
 */
export function accessProblems(
  declared: DeclaredState,
  live: LiveState,
  changes: readonly Change[],
  internalUser: string,
): Problem[] {
  const stores = [...live.sections.values()].filter(({ kind }) => kind === 'roles' || kind === 'logins')
  return stores.flatMap(({ kind, path }) => {
    const store = path.slice(0, -1)
    const own = changes.filter((change) => isIn(store, change.path))
    if (own.length === 0) return []
    const access = {
      declared,
      changes: own,
      before: storeOf(live, store, []),
      after: storeOf(live, store, own),
    }
    return kind === 'logins'
      ? internalLoginProblems(access, internalUser)
      : [...unknownRoles(access, store), ...internalRoleProblems(access, internalUser)]
  })
}

type Entries = ReadonlyMap<string, unknown>

/** The entries of an authenticator or authorizer, by kind. */
type Store = Readonly<Record<'roles' | 'users' | 'groupMappings' | 'logins', Entries>>

interface ChangedAccess {
  readonly declared: DeclaredState
  readonly changes: readonly Change[]
  readonly before: Store
  readonly after: Store
}

const isIn = (store: readonly string[], path: readonly string[]): boolean =>
  store.every((key, index) => path[index] === key)

function storeOf({ sections }: LiveState, store: readonly string[], changes: readonly Change[]): Store {
  const entriesOf = (wanted: SectionKind): Entries => {
    const found = [...sections.values()].find(({ kind, path }) => kind === wanted && isIn(store, path))
    const entries = new Map(found?.entries)
    for (const { kind, path, after } of changes) {
      if (kind !== wanted) continue
      if (after === undefined) entries.delete(path.at(-1)!)
      else entries.set(path.at(-1)!, after)
    }
    return entries
  }
  return {
    roles: entriesOf('roles'),
    users: entriesOf('users'),
    groupMappings: entriesOf('groupMappings'),
    logins: entriesOf('logins'),
  }
}

/** Roles that declared users and group mappings have, but that do not exist after the changes. */
function unknownRoles({ declared, before, after }: ChangedAccess, store: readonly string[]): Problem[] {
  const problems: Problem[] = []
  for (const kind of ['users', 'groupMappings'] as const)
    for (const [name, value] of after[kind]) {
      const path = [...store, kind, name]
      const origin = declared.origins.get(keyOf(path))
      if (origin === undefined) continue
      const earlier = rolesOf(before[kind].get(name))
      for (const role of rolesOf(value)) {
        // A cluster may already have such users.
        const isAsBefore = earlier.includes(role) && !before.roles.has(role)
        if (after.roles.has(role) || isAsBefore) continue
        const index = rolesOf(origin.written).indexOf(role)
        const list = `${fieldAt(path)}${kind === 'users' ? '' : '.roles'}`
        const similar = similarNames(role, after.roles.keys())
        const hint = similar.length === 0 ? '' : `. Similar names: [${similar.join('], [')}]`
        problems.push({
          source: origin.source,
          field: index === -1 ? list : `${list}[${index}]`,
          message: `Unknown role [${role}]: expected a role that [${fieldAt(store)}] has after these changes${hint}`,
        })
      }
    }
  return problems
}

/** The roles of a user, or of a group mapping. */
function rolesOf(value: unknown): readonly string[] {
  const roles = Array.isArray(value) ? value : ((value ?? {}) as { readonly roles?: unknown }).roles
  return Array.isArray(roles) ? (roles as string[]) : []
}

function internalRoleProblems(access: ChangedAccess, internalUser: string): Problem[] {
  const { before, after, changes } = access
  if (!mayCallServers(before, internalUser) || mayCallServers(after, internalUser)) return []
  const roles = rolesOf(before.users.get(internalUser))
  const isCause = ({ kind, path }: Change): boolean =>
    kind === 'users' ? path.at(-1) === internalUser : kind === 'roles' && roles.includes(path.at(-1)!)
  return [
    problemOf(
      access,
      changes.find(isCause)!,
      `Servers use the user [${internalUser}] to call each other: expected this user to keep [READ] and [WRITE] on [STATE] and [READ] on [CONFIG]`,
    ),
  ]
}

function mayCallServers({ users, roles }: Store, internalUser: string): boolean {
  const own = rolesOf(users.get(internalUser))
  try {
    const read = own.map(
      (name) => [name, parsePermissions(roles.get(name) ?? [], countNamePatternSteps)] as const,
    )
    const directory = { users: { [internalUser]: own }, roles: Object.fromEntries(read) }
    const permissions = permissionsOf(directory, internalUser)
    return internalNeeds.every((need) => permits(permissions, need))
  } catch (error) {
    // What another version of Druid stores may have another meaning.
    if (error instanceof Failure) return false
    throw error
  }
}

function internalLoginProblems(access: ChangedAccess, internalUser: string): Problem[] {
  const removed = access.changes.find(
    ({ kind, path, action }) => kind === 'logins' && action === 'remove' && path.at(-1) === internalUser,
  )
  return removed === undefined
    ? []
    : [
        problemOf(
          access,
          removed,
          `Servers use the user [${internalUser}] to log in to each other: expected the files to contain this user`,
        ),
      ]
}

/** A problem at the place of a changed entry; at that of its section if the files do not have the entry. */
function problemOf({ declared: { origins } }: ChangedAccess, { path }: Change, message: string): Problem {
  const section = path.slice(0, -1)
  const at = origins.has(keyOf(path)) ? path : section
  return { source: origins.get(keyOf(at))!.source, field: fieldAt(at), message }
}
