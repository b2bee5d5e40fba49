import {
  administratorsOf,
  type Permission,
  permissionsOf,
  permissionsOfRoles,
  securityResource,
} from '@svc/domain/access'
import { conflict, invalidInput } from '@svc/domain/failure'
import type { RouteInput } from '@svc/shared/http'
import { changeSecurity, readSecurityDirectory, type Transaction } from '@svc/shared/postgres'
import {
  type AuthorizerDirectory,
  authorizerOptions,
  permits,
  type SecurityDirectory,
} from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import type { DirectoryFollowers } from '../../users/index.ts'

/** Makes one change of users, roles or mappings; `key` says what it is about, `payload` what was stored. */
export type ChangeSecurity = (
  input: RouteInput<unknown, unknown>,
  key: string,
  payload: unknown,
  change: (transaction: Transaction) => Promise<void>,
) => Promise<void>

const writeSecurity = { action: 'WRITE', type: 'CONFIG', name: securityResource } as const

// What the servers do among themselves needs these; without them the cluster would stop working.
const internalNeeds = [
  { action: 'READ', type: 'STATE', name: 'STATE' },
  { action: 'WRITE', type: 'STATE', name: 'STATE' },
  { action: 'READ', type: 'CONFIG', name: 'CONFIG' },
] as const

export const emptyAuthorizer: AuthorizerDirectory = { users: {}, roles: {}, groupMappings: {} }

/**
 * A change that leaves nobody who could administer, or cripples the internal user, is a conflict and not made. One that is
 * made is answered when the servers decide by it: whoever reads the answer may rely on it everywhere.
 */
export function securityChanges(context: ServiceContext, followers: DirectoryFollowers): ChangeSecurity {
  const { settings, database, clock } = context
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  const basicAuthorizers = settings
    .get('svc.auth.authorizers')
    .filter((name) => settings.getNamed('svc.auth.authorizer.<name>.type', name) === 'basic')

  /** Who could administer, by name; the members of a mapped group of a directory are named by their mapping. */
  const administrators = (directory: SecurityDirectory): string[] =>
    basicAuthorizers.flatMap((authorizer) => {
      const authenticators = settings
        .get('svc.auth.authenticatorChain')
        .filter(
          (name) => settings.getNamed('svc.auth.authenticator.<name>.authorizerName', name) === authorizer,
        )
      // Only the directory knows who can log in there.
      const isDirectory = (name: string) =>
        settings.getNamed('svc.auth.authenticator.<name>.credentialsValidator.type', name) === 'ldap'
      const canLogIn = (user: string) =>
        user !== internalUser &&
        authenticators.some((name) => isDirectory(name) || directory.authenticators[name]?.[user] != null)
      const known = directory.authorizers[authorizer] ?? emptyAuthorizer
      const { groupFilters, compatibility } = authorizerOptions(settings, authorizer)
      const mayWriteSecurity = (permissions: readonly Permission[]) =>
        permits(permissions, writeSecurity, { compatibility })
      const mappings =
        groupFilters !== undefined && authenticators.some(isDirectory) ? known.groupMappings : {}
      return [
        ...administratorsOf(known, canLogIn, mayWriteSecurity),
        ...Object.keys(mappings).filter((name) =>
          mayWriteSecurity(permissionsOfRoles(known, mappings[name]?.roles ?? [])),
        ),
      ]
    })
  const internalIsAble = (directory: SecurityDirectory): boolean =>
    basicAuthorizers.every((authorizer) => {
      const permissions = permissionsOf(directory.authorizers[authorizer] ?? emptyAuthorizer, internalUser)
      return internalNeeds.every((need) => permits(permissions, need))
    })

  return async ({ audit }, key, payload, change) => {
    await changeSecurity(database, { ...audit, key, payload }, clock.now(), async (transaction) => {
      const before = await readSecurityDirectory(transaction)
      await change(transaction)
      const after = await readSecurityDirectory(transaction)
      if (administrators(before).length > 0 && administrators(after).length === 0) {
        throw conflict(
          'Nobody could administer users and roles any more; give another user a password and a role with the permission [WRITE] on [CONFIG] by a pattern that names [security] first',
        )
      }
      if (internalIsAble(before) && !internalIsAble(after)) {
        throw conflict(
          `The internal user [${internalUser}] would lose permissions that the servers need among themselves; it keeps READ and WRITE on [STATE] and READ on [CONFIG]`,
        )
      }
    })
    await followers.untilKnownEverywhere()
  }
}

/** Refuses, as the recorded system does with a 400, what a change or a question found not to be so. */
export function expect(holds: boolean, message: string): void {
  if (!holds) throw invalidInput(message)
}

// Longer names of users, roles and mappings help nobody.
const longestName = 255

/** A name of a user, role or mapping from the path. */
export function nameParameter(params: Readonly<Record<string, string>>, parameter: string): string {
  const name = params[parameter] as string
  expect(
    name.trim() !== '' && name.length <= longestName && !/\p{Cc}/u.test(name),
    `The name of the ${parameter} is [${name.slice(0, longestName)}]; allowed are 1 to ${longestName} characters that are not all blank, without control characters`,
  )
  return name
}
