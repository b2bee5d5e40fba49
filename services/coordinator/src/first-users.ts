import { actions, type Permission, resourceTypes } from '@svc/domain/access'
import {
  announceSecurityChange,
  claimInitialization,
  saveAuthenticationUser,
  saveUserWithRole,
} from '@svc/shared/postgres'
import { hashPassword } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'

const adminUser = 'admin'

/** Everything there is to permit: what the roles of the first users hold. */
const allPermissions: readonly Permission[] = resourceTypes.flatMap((type) =>
  actions.map((action) => ({ resource: { type, name: '.*' }, action })),
)

/**
 * Fills the stores of users and roles that were never filled: `admin` and the internal user. A store that was
 * filled once is left alone, so that a deleted administrator does not come back with its first password.
 */
export async function createFirstUsers({ settings, database, logger }: ServiceContext): Promise<void> {
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  for (const authenticator of settings.get('svc.auth.authenticatorChain')) {
    if (settings.getNamed('svc.auth.authenticator.<name>.type', authenticator) !== 'basic') continue
    const passwords = [
      [adminUser, settings.getNamed('svc.auth.authenticator.<name>.initialAdminPassword', authenticator)],
      [
        internalUser,
        settings.getNamed('svc.auth.authenticator.<name>.initialInternalClientPassword', authenticator),
      ],
    ] as const
    await database.transaction(async (transaction) => {
      if (!(await claimInitialization(transaction, 'authenticator', authenticator))) return
      const hashed = await Promise.all(
        passwords.map(async ([user, password]) => ({
          user,
          credentials: password ? await hashPassword(password) : undefined,
        })),
      )
      for (const { user, credentials } of hashed) {
        if (credentials) await saveAuthenticationUser(transaction, authenticator, user, credentials)
        else logger.warn('A first user is not made, for it has no initial password', { authenticator, user })
      }
      await announceSecurityChange(transaction)
    })
  }
  for (const authorizer of settings.get('svc.auth.authorizers')) {
    if (settings.getNamed('svc.auth.authorizer.<name>.type', authorizer) !== 'basic') continue
    await database.transaction(async (transaction) => {
      if (!(await claimInitialization(transaction, 'authorizer', authorizer))) return
      for (const user of [adminUser, internalUser])
        await saveUserWithRole(transaction, authorizer, user, allPermissions)
      await announceSecurityChange(transaction)
    })
  }
}
