import {
  type Access,
  internalNeeds,
  type Permission,
  parsePermissions,
  permissionsOfRoles,
  securityResource,
} from '@svc/domain/access'
import { Failure } from '@svc/domain/failure'
import { isJsonObject, similarNamesText } from '@svc/domain/validation'
import { countNamePatternSteps, permits } from '@svc/shared/security'
import type { Change } from './changes.ts'
import type { DeclaredState, Problem } from './parse.ts'
import { readLogin, type SectionKind } from './sections.ts'
import { fieldAt, keyOf, type LiveState } from './state.ts'

/** The properties of a cluster that decide which changes of users and roles it refuses. */
interface AccessSettings {
  /** The user as which servers call each other. */
  readonly internalUser: string
  readonly hasDirectory: boolean
  readonly checksLikeDruid: boolean
}

/**
 * Returns why a cluster would refuse changes of users and roles: users or group mappings get roles that do not exist,
 * servers could no longer call each other, or nobody could change users and roles anymore. Otherwise, this would be
 * noticed only after other changes were applied.
 */
export function accessProblems(
  declared: DeclaredState,
  live: LiveState,
  changes: readonly Change[],
  settings: AccessSettings,
): Problem[] {
  const { internalUser } = settings
  const stores = [...live.sections.values()].filter(({ kind }) => kind === 'roles' || kind === 'logins')
  const problems = stores.flatMap(({ kind, path }) => {
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
  return [...problems, ...administratorProblems(declared, live, changes, settings)]
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
        const similar = similarNamesText(role, after.roles.keys())
        problems.push({
          source: origin.source,
          field: index === -1 ? list : `${list}[${index}]`,
          message: `Unknown role [${role}]: expected a role that [${fieldAt(store)}] has after these changes${similar && `. ${similar}`}`,
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

function mayCallServers(store: Store, internalUser: string): boolean {
  const permissions = permissionsIn(store, rolesOf(store.users.get(internalUser)))
  return internalNeeds.every((need) => permits(permissions, need))
}

/** The permissions of roles; none if svc cannot read them. */
function permissionsIn({ roles }: Store, names: readonly string[]): readonly Permission[] {
  try {
    const read = names.map(
      (name) => [name, parsePermissions(roles.get(name) ?? [], countNamePatternSteps)] as const,
    )
    return permissionsOfRoles({ roles: Object.fromEntries(read) }, names)
  } catch (error) {
    // What another version of Druid stores may have another meaning.
    if (error instanceof Failure) return []
    throw error
  }
}

const administration: Access = { action: 'WRITE', type: 'CONFIG', name: securityResource }

/** Refuses changes after which no user could change users and roles anymore, if one can now. */
function administratorProblems(
  declared: DeclaredState,
  live: LiveState,
  changes: readonly Change[],
  settings: AccessSettings,
): Problem[] {
  const before = administratorsOf(live, [], settings)
  if (before.length === 0 || administratorsOf(live, changes, settings).length > 0) return []
  const names = before.map(([name]) => name)
  const roles = new Set(before.flatMap(([, value]) => rolesOf(value)))
  const isCause = ({ kind, path }: Change): boolean =>
    kind === 'roles' ? roles.has(path.at(-1)!) : path.length > 2 && names.includes(path.at(-1)!)
  return [
    problemOf(
      { declared },
      changes.findLast(isCause)!,
      `No user could change users and roles anymore: expected [${names.join('], [')}], or another user with a password, to have [WRITE] on [CONFIG] [${securityResource}]`,
    ),
  ]
}

/** The users who can change users and roles after the changes, and the group mappings that allow directory users to. */
function administratorsOf(
  live: LiveState,
  changes: readonly Change[],
  { internalUser, hasDirectory, checksLikeDruid }: AccessSettings,
): (readonly [name: string, value: unknown])[] {
  const canLogIn = loginsAfter(live, changes)
  return authorizersOf(live).flatMap((path) => {
    const own = changes.filter((change) => isIn(path, change.path))
    const store = storeOf(live, path, own)
    const users = [...store.users].filter(([name]) => name !== internalUser && canLogIn(name))
    const groups = hasDirectory ? [...store.groupMappings] : []
    return [...users, ...groups].filter(([, value]) =>
      permits(permissionsIn(store, rolesOf(value)), administration, { compatibility: checksLikeDruid }),
    )
  })
}

const authorizersOf = ({ sections }: LiveState): (readonly string[])[] =>
  [...sections.values()].filter(({ kind }) => kind === 'roles').map(({ path }) => path.slice(0, -1))

/** Returns whether a user can log in after changes, as far as known: a user without a login may be a directory user. */
function loginsAfter({ sections }: LiveState, changes: readonly Change[]): (user: string) => boolean {
  const hasPassword = new Map<string, boolean>()
  const note = (user: string, value: boolean): void => {
    hasPassword.set(user, value)
  }
  for (const { kind, entries } of sections.values()) {
    if (kind !== 'logins') continue
    for (const [user, login] of entries) note(user, !isJsonObject(login) || login.hasPassword !== false)
  }
  for (const { kind, path, after } of changes)
    if (kind === 'logins')
      note(path.at(-1)!, after !== undefined && readLogin(after, '').password !== undefined)
  return (user) => hasPassword.get(user) ?? true
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
function problemOf(
  { declared: { origins } }: Pick<ChangedAccess, 'declared'>,
  { path }: Change,
  message: string,
): Problem {
  const section = path.slice(0, -1)
  const at = origins.has(keyOf(path)) ? path : section
  return { source: origins.get(keyOf(at))!.source, field: fieldAt(at), message }
}
