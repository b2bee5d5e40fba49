import { type AuthorizerRoles, internalNeeds, permissionsOf } from '@svc/domain/access'
import { conflict, invalidInput } from '@svc/domain/failure'
import { readName } from '@svc/domain/validation'
import { storesUsers } from '@svc/shared/config'
import { type RouteInput, versionCheck } from '@svc/shared/http'
import { changeSecurity, readUsersAndRoles, type Transaction } from '@svc/shared/postgres'
import { permits, reachableAuthenticators, storedCredentials, type UsersAndRoles } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import type { UsersFollowers } from '../../users/index.ts'
import { administratorTest } from './has-administrator.ts'

/** Applies one change to users, roles, or mappings. The audit entry gets `key`, which names the target, and `payload`. */
export type ChangeSecurity = (
  input: RouteInput<unknown, unknown>,
  key: string,
  payload: unknown,
  change: (transaction: Transaction) => Promise<void>,
) => Promise<void>

export const emptyAuthorizer: AuthorizerRoles = { users: {}, roles: {}, groupMappings: {} }

/**
 * Returns the function that changes users, roles, and mappings. It throws conflict if a change would leave no user who can
 * administer, or would take from the internal user what it needs. It resolves once the servers use the change.
 */
export function securityChanges(
  { settings, database, clock }: Pick<ServiceContext, 'settings' | 'database' | 'clock'>,
  followers: UsersFollowers,
): ChangeSecurity {
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  const basicAuthorizers = settings
    .get('svc.auth.authorizers')
    .filter((name) => settings.getNamed('svc.auth.authorizer.<name>.type', name) === 'basic')

  const internalIsAble = (stored: UsersAndRoles): boolean =>
    basicAuthorizers.every((authorizer) => {
      const permissions = permissionsOf(stored.authorizers[authorizer] ?? emptyAuthorizer, internalUser)
      return internalNeeds.every((need) => permits(permissions, need))
    })

  const withStoredUsers = reachableAuthenticators(settings).filter((name) => storesUsers(settings, name))
  /** Returns the authenticator that verifies the internal user. */
  const internalAuthenticator = (stored: UsersAndRoles): string | undefined =>
    withStoredUsers.find((name) => storedCredentials(stored, name, internalUser) !== undefined)

  return async ({ audit, caller, request }, key, payload, change) => {
    const hasAdministrator = administratorTest(settings, caller)
    await changeSecurity(database, { ...audit, key, payload }, clock.now(), async (transaction) => {
      const before = await readUsersAndRoles(transaction)
      versionCheck(request, 'users or roles')(before.version)
      await change(transaction)
      const after = await readUsersAndRoles(transaction)
      if ((await hasAdministrator(before)) && !(await hasAdministrator(after))) {
        throw conflict(
          'This change could leave no user who can log in and administer users and roles. First give another user a password and a role with the permission [WRITE] on [CONFIG] and a pattern that matches [security], or make this change as an LDAP administrator',
        )
      }
      if (internalIsAble(before) && !internalIsAble(after)) {
        throw conflict(
          `This change would remove permissions of the internal user [${internalUser}], which servers use to call each other: keep [READ] and [WRITE] on [STATE] and [READ] on [CONFIG]`,
        )
      }
      const authenticator = internalAuthenticator(before)
      if (authenticator !== undefined && internalAuthenticator(after) !== authenticator) {
        throw conflict(
          `This change would remove the internal user [${internalUser}] from authenticator [${authenticator}], so servers could no longer log in to each other: keep the user in this authenticator`,
        )
      }
    })
    await followers.untilKnownEverywhere()
  }
}

/** Throws invalidInput (status 400, like Druid 37) unless a condition holds. */
export function expect(holds: boolean, message: string): void {
  if (!holds) throw invalidInput(message)
}

const readPathName = readName()

/** Returns the name of a user, role, or mapping from the path. Throws invalidInput if it is invalid. */
export function nameParameter(params: Readonly<Record<string, string>>, parameter: string): string {
  return readPathName(params[parameter], parameter)
}
