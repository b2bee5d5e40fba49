import { longestName, permissionsOf } from '@svc/domain/access'
import { conflict, invalidInput } from '@svc/domain/failure'
import { hasControlCharacter } from '@svc/domain/validation'
import { storesUsers } from '@svc/shared/config'
import type { RouteInput } from '@svc/shared/http'
import { changeSecurity, readSecurityDirectory, type Transaction } from '@svc/shared/postgres'
import {
  type AuthorizerDirectory,
  askedAuthenticators,
  permits,
  type SecurityDirectory,
  storedCredentials,
} from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import type { DirectoryFollowers } from '../../users/index.ts'
import { administratorTest } from './has-administrator.ts'

/** Makes one change of users, roles or mappings; `key` says what it is about, `payload` what was stored. */
export type ChangeSecurity = (
  input: RouteInput<unknown, unknown>,
  key: string,
  payload: unknown,
  change: (transaction: Transaction) => Promise<void>,
) => Promise<void>

// What the servers do among themselves needs these; without them the cluster would stop working.
const internalNeeds = [
  { action: 'READ', type: 'STATE', name: 'STATE' },
  { action: 'WRITE', type: 'STATE', name: 'STATE' },
  { action: 'READ', type: 'CONFIG', name: 'CONFIG' },
] as const

export const emptyAuthorizer: AuthorizerDirectory = { users: {}, roles: {}, groupMappings: {} }

/**
 * A change that leaves nobody who could administer, or takes from the internal user what it needs, is a conflict and not
 * made. One that is made is answered when the servers decide by it: whoever reads the answer may rely on it everywhere.
 */
export function securityChanges(context: ServiceContext, followers: DirectoryFollowers): ChangeSecurity {
  const { settings, database, clock } = context
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  const basicAuthorizers = settings
    .get('svc.auth.authorizers')
    .filter((name) => settings.getNamed('svc.auth.authorizer.<name>.type', name) === 'basic')

  const internalIsAble = (directory: SecurityDirectory): boolean =>
    basicAuthorizers.every((authorizer) => {
      const permissions = permissionsOf(directory.authorizers[authorizer] ?? emptyAuthorizer, internalUser)
      return internalNeeds.every((need) => permits(permissions, need))
    })

  const withStoredUsers = askedAuthenticators(settings).filter((name) => storesUsers(settings, name))
  /** Who verifies the internal user. */
  const internalAuthenticator = (directory: SecurityDirectory): string | undefined =>
    withStoredUsers.find((name) => storedCredentials(directory, name, internalUser) !== undefined)

  return async ({ audit, caller }, key, payload, change) => {
    const hasAdministrator = administratorTest(settings, caller)
    await changeSecurity(database, { ...audit, key, payload }, clock.now(), async (transaction) => {
      const before = await readSecurityDirectory(transaction)
      await change(transaction)
      const after = await readSecurityDirectory(transaction)
      if (hasAdministrator(before) && !hasAdministrator(after)) {
        throw conflict(
          'Nobody who is known to be able to log in could administer users and roles any more; give another user a password and a role with the permission [WRITE] on [CONFIG] by a pattern that names [security] first, or let somebody of a directory who administers make this change',
        )
      }
      if (internalIsAble(before) && !internalIsAble(after)) {
        throw conflict(
          `The internal user [${internalUser}] would lose permissions that the servers need among themselves; it keeps READ and WRITE on [STATE] and READ on [CONFIG]`,
        )
      }
      const authenticator = internalAuthenticator(before)
      if (authenticator !== undefined && internalAuthenticator(after) !== authenticator) {
        throw conflict(
          `The internal user [${internalUser}] would not be known to authenticator [${authenticator}] any more, and the servers could not log in to each other; it stays there`,
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

/** A name of a user, role or mapping from the path. */
export function nameParameter(params: Readonly<Record<string, string>>, parameter: string): string {
  const name = params[parameter] as string
  expect(
    name.trim() !== '' && name.length <= longestName && !hasControlCharacter(name),
    `The name of the ${parameter} is [${name.slice(0, longestName)}]; expected 1 to ${longestName} characters that are not all blank, without control characters`,
  )
  return name
}
