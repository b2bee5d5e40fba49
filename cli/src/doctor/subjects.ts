import { parseDistinguishedName } from '@svc/domain/access'
import { listOf, type Server, textOf } from './configuration.ts'
import { authorizerRolesOf, type KnownUsers } from './known-users.ts'
import {
  type Authenticator,
  chainOf,
  createdInternalUser,
  directoryUrl,
  initialPasswordOf,
} from './logins.ts'

/** Someone who sends requests: a user with the right password, the servers, or a caller without a login. */
export interface Subject {
  /** The same in two configurations for the same user, even if the authenticator of a directory has another name. */
  readonly key: string
  /** As it is shown. */
  readonly name: string
  readonly kind: 'nobody' | 'servers' | 'user'
  readonly user: string
  /** The authenticator that has the password of the user. */
  readonly authenticator: string | undefined
  /** Where that authenticator has the user. */
  readonly store: Authenticator['users']
  readonly groups: readonly string[]
}

/** A name that no user has, for those about whom nothing else is known. */
const anyUser = 'any other user'

/** Returns everyone whose access a configuration decides. */
export function subjectsOf(server: Server, known: KnownUsers): Subject[] {
  const nobody: Subject = {
    key: 'nobody',
    name: 'callers without a login',
    kind: 'nobody',
    user: '',
    authenticator: undefined,
    store: undefined,
    groups: [],
  }
  const internalUser = textOf(server, 'druid.escalator.internalClientUsername') ?? createdInternalUser
  const servers: Subject = {
    key: 'servers',
    name: `the servers, as ${internalUser}`,
    kind: 'servers',
    user: internalUser,
    authenticator: undefined,
    store: undefined,
    groups: [],
  }
  const users = chainOf(server).flatMap((authenticator) => {
    const { name: stored, users: where, authorizer = '' } = authenticator
    const store = where === 'directory' ? directoryKey(server, authenticator) : stored
    const named = (user: string, groups: readonly string[] = []): Subject => ({
      key: JSON.stringify([user, store, groups]),
      name: groups.length === 0 ? `${user} of ${stored}` : `a user of ${stored} in ${groups.join(' and ')}`,
      kind: 'user',
      user,
      authenticator: stored,
      store: where,
      groups,
    })
    const authorizerRoles = authorizerRolesOf(server, authorizer, known)
    const isServer = (user: string) => user === internalUser
    if (where === 'stored') {
      const names = ['admin', ...(known.logins[stored] ?? []), anyUser]
      return [...new Set(names)].filter((user) => !isServer(user)).map((user) => named(user))
    }
    if (where !== 'directory') return []
    const names = [...Object.keys(known.authorizers[authorizer]?.users ?? {}), anyUser]
    const patterns = Object.values(authorizerRoles.groupMappings).map(({ groupPattern }) => groupPattern)
    const groups = patterns.filter((pattern) => !pattern.includes('*') && parseDistinguishedName(pattern))
    return [
      ...[...new Set(names)].filter((user) => !isServer(user)).map((user) => named(user)),
      ...[...new Set(groups)].map((group) => named(anyUser, [group])),
    ]
  })
  return [nobody, servers, ...users]
}

/** Returns what identifies a directory: users keep their logins if only its authenticator has another name. */
const directoryKey = (server: Server, authenticator: Authenticator): string =>
  directoryUrl(server, authenticator) ?? authenticator.name

/** Returns whether an authenticator has the password of a subject: users of a directory are not in the metadata store. */
export const isOwnAuthenticator = ({ authenticator, store }: Subject, one: Authenticator): boolean =>
  authenticator === one.name && store === one.users

/** Returns whether an authenticator that stores users has one with this name. */
export function storesUser(server: Server, authenticator: string, user: string, known: KnownUsers): boolean {
  const prefix = `druid.auth.authenticator.${authenticator}`
  const internalUser = textOf(server, 'druid.escalator.internalClientUsername') ?? createdInternalUser
  if (user === internalUser || user === 'admin')
    return server.properties.has(initialPasswordOf({ prefix }, user))
  return (known.logins[authenticator] ?? []).includes(user)
}

/** Returns the group filters of an authorizer; undefined if it ignores groups. */
export function groupFiltersOf(server: Server, authorizer: string): readonly string[] | undefined {
  const prefix = `druid.auth.authorizer.${authorizer}.roleProvider`
  return textOf(server, `${prefix}.type`) === 'ldap'
    ? (listOf(server, `${prefix}.groupFilters`) ?? [])
    : undefined
}
