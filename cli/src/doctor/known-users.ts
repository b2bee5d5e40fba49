import { type AuthorizerRoles, actions, type Permission, resourceTypes } from '@svc/domain/access'
import { meaningOf, parseState, type SectionKind } from '../declared-state/index.ts'
import { problemsFailure, readStateFiles } from '../state-files/index.ts'
import { type Server, textOf } from './configuration.ts'
import { createdInternalUser } from './logins.ts'

/** Users and roles that are in the metadata store, and so not in the configuration. */
export interface KnownUsers {
  /** Users with a password, by authenticator. */
  readonly logins: Readonly<Record<string, readonly string[]>>
  /** Roles of users and groups, by authorizer. */
  readonly authorizers: Readonly<Record<string, Partial<AuthorizerRoles>>>
}

/** Without files, only the users are known that a new metadata store has. */
export const noKnownUsers: KnownUsers = { logins: {}, authorizers: {} }

/** Reads the users and roles in the files that `./svc pull` writes. Throws a Failure if they are not valid. */
export function readKnownUsers(target: string): KnownUsers {
  const files = readStateFiles(target)
  const { sections, problems } = parseState(files)
  if (problems.length > 0) throw problemsFailure(files, problems)
  const logins: Record<string, readonly string[]> = {}
  const authorizers: Record<string, Partial<Record<SectionKind, unknown>>> = {}
  for (const { kind, path, entries } of sections.values()) {
    const [first, name = ''] = path
    const meant = () =>
      Object.fromEntries([...entries].map(([key, value]) => [key, meaningOf(kind, value, key)]))
    if (first === 'authenticators') logins[name] = [...entries.keys()]
    if (first === 'authorizers') authorizers[name] = { ...authorizers[name], [kind]: meant() }
  }
  return { logins, authorizers: authorizers as KnownUsers['authorizers'] }
}

const allPermissions: readonly Permission[] = resourceTypes.flatMap((type) =>
  actions.map((action) => ({ resource: { type, name: '.*' }, action })),
)

/** Returns the users, roles, and mappings of an authorizer: those that it creates, and known ones. */
export function authorizerRolesOf(server: Server, authorizer: string, known: KnownUsers): AuthorizerRoles {
  const text = (end: string) => textOf(server, `druid.auth.authorizer.${authorizer}.${end}`)
  const [role, user, group] = [
    text('initialAdminRole') ?? 'admin',
    text('initialAdminUser') ?? 'admin',
    text('initialAdminGroupMapping'),
  ]
  const { users, roles, groupMappings } = known.authorizers[authorizer] ?? {}
  const internalUser = textOf(server, 'druid.escalator.internalClientUsername') ?? createdInternalUser
  return {
    users: { admin: ['admin'], [user]: [role], ...users, [internalUser]: [createdInternalUser] },
    roles: { admin: allPermissions, [role]: allPermissions, ...roles, [createdInternalUser]: allPermissions },
    groupMappings: {
      ...(group === undefined ? {} : { adminGroupMapping: { groupPattern: group, roles: [role] } }),
      ...groupMappings,
    },
  }
}
