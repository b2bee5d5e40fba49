import {
  actions,
  allowedPasswords,
  isAllowedPassword,
  type Permission,
  resourceTypes,
  securityResource,
} from '@svc/domain/access'
import { invalidInput } from '@svc/domain/failure'
import { storesUsers } from '@svc/shared/config'
import {
  addGroupMapping,
  announceSecurityChange,
  assignRole,
  claimInitialization,
  saveAuthenticationUser,
  saveRole,
  saveUserWithRole,
} from '@svc/shared/postgres'
import { hashPassword } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'

const adminUser = 'admin'

/** All permissions there are. The roles of the initial users get them. */
const allPermissions: readonly Permission[] = [
  ...resourceTypes.flatMap((type) => actions.map((action) => ({ resource: { type, name: '.*' }, action }))),
  // Changing users and roles needs a permission that names them.
  ...actions.map((action) => ({ resource: { type: 'CONFIG', name: securityResource }, action }) as const),
]
const adminMapping = 'adminGroupMapping'

/**
 * Creates the users `admin` and the internal user in new stores of users and roles. A store is initialized only once, so a
 * deleted administrator does not come back with the initial password. Throws invalidInput if an initial password is
 * invalid; one that has already been used is not checked.
 */
export async function createFirstUsers({
  settings,
  database,
  logger,
}: Pick<ServiceContext, 'settings' | 'database' | 'logger'>): Promise<void> {
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  const shortest = settings.get('svc.auth.credentials.minLength')
  for (const authenticator of settings.get('svc.auth.authenticatorChain')) {
    if (!storesUsers(settings, authenticator)) continue
    const passwords = [
      [adminUser, 'initialAdminPassword'],
      [internalUser, 'initialInternalClientPassword'],
    ] as const
    for (const [user, property] of passwords) {
      const password = settings.getNamed(`svc.auth.authenticator.<name>.${property}`, authenticator)
      if (!password) {
        logger.warn('User not created: no initial password is set', { authenticator, user })
        continue
      }
      await database.transaction(async (transaction) => {
        // Hashing under the lock is fast and happens only once in the life of a cluster.
        if (!(await claimInitialization(transaction, 'authenticator', `${authenticator} ${user}`))) return
        if (!isAllowedPassword(password, shortest)) {
          throw invalidInput(
            `Invalid value for [svc.auth.authenticator.${authenticator}.${property}] ([${password.length}] characters): expected ${allowedPasswords(shortest)}.`,
          )
        }
        await saveAuthenticationUser(transaction, authenticator, user, await hashPassword(password))
        await announceSecurityChange(transaction)
      })
    }
  }
  for (const authorizer of settings.get('svc.auth.authorizers')) {
    if (settings.getNamed('svc.auth.authorizer.<name>.type', authorizer) !== 'basic') continue
    await database.transaction(async (transaction) => {
      if (!(await claimInitialization(transaction, 'authorizer', authorizer))) return
      for (const user of [adminUser, internalUser])
        await saveUserWithRole(transaction, authorizer, user, user, allPermissions)
      const initialUser = settings.getNamed('svc.auth.authorizer.<name>.initialAdminUser', authorizer)
      const initialRole = settings.getNamed('svc.auth.authorizer.<name>.initialAdminRole', authorizer)
      await saveRole(transaction, authorizer, initialRole, allPermissions)
      // As in Druid, `admin` and the internal user have only their own roles.
      if (initialUser !== adminUser && initialUser !== internalUser)
        await saveUserWithRole(transaction, authorizer, initialUser, initialRole, allPermissions)
      const group = settings.getNamed('svc.auth.authorizer.<name>.initialAdminGroupMapping', authorizer)
      if (group !== undefined) {
        await addGroupMapping(transaction, authorizer, adminMapping, group)
        await assignRole(transaction, authorizer, 'mapping', adminMapping, initialRole)
      }
      await announceSecurityChange(transaction)
    })
  }
}
