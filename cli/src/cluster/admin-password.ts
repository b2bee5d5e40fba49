import { existsSync } from 'node:fs'
import { allowedPasswords, isAllowedPassword } from '@svc/domain/access'
import { invalidInput } from '@svc/domain/failure'
import { loadSettings, type Settings, storesUsers } from '@svc/shared/config'
import { reachableAuthenticators } from '@svc/shared/security'
import { type HomeLayout, readSecret, writeSecret } from '../home/index.ts'
import type { ClusterPlan } from './plan-cluster.ts'
import { commonPropertiesFile, runtimePropertiesFile } from './write-configuration.ts'

const initialPassword = 'svc.auth.authenticator.<name>.initialAdminPassword'

/** The authenticator that stores the user admin in the metadata store; undefined if directories verify all logins. */
const adminAuthenticator = (settings: Settings): string | undefined =>
  reachableAuthenticators(settings).find((name) => storesUsers(settings, name))

/** Whether the metadata store of a home has the user admin, according to the configuration of its last start. */
export function usesStoredAdmin(home: HomeLayout): boolean {
  try {
    return (
      adminAuthenticator(loadSettings('coordinator', [commonPropertiesFile(home)], process.env)) !== undefined
    )
  } catch {
    // The configuration is missing or was edited: that is no reason to withhold the password.
    return true
  }
}

/** Whether the metadata store of a home may already have the admin's password, so that a new one has no effect. */
export const hasFirstAdminPassword = (home: HomeLayout): boolean =>
  existsSync(home.postgres) && Boolean(readSecret(home, 'admin-password'))

/**
 * The admin password of a new cluster according to its configuration: the default, an option, or the environment. It
 * becomes the secret of the home. Throws a Failure if the password is not allowed, or if `given`, the value of
 * --admin-password, is a different one.
 */
export function adoptAdminPassword(
  home: HomeLayout,
  { services }: ClusterPlan,
  given: string | undefined,
): string {
  const known = readSecret(home, 'admin-password') as string
  const coordinator = services.find(({ role }) => role === 'coordinator')
  if (!coordinator) return known
  const files = [commonPropertiesFile(home), runtimePropertiesFile(home, coordinator.instance)]
  const settings = loadSettings('coordinator', files, process.env)
  const authenticator = adminAuthenticator(settings)
  if (authenticator === undefined) return known
  const password = settings.getNamed(initialPassword, authenticator) ?? ''
  if (password === known) return known
  const property = initialPassword.replace('<name>', () => authenticator)
  const minLength = settings.get('svc.auth.credentials.minLength')
  if (!isAllowedPassword(password, minLength)) {
    throw invalidInput(
      `Invalid value for [${property}] ([${password.length}] characters): expected ${allowedPasswords(minLength)}.`,
    )
  }
  if (given !== undefined) {
    throw invalidInput(
      `[--admin-password] and [${property}] have different values: expected only one of them.`,
    )
  }
  return writeSecret(home, 'admin-password', password)
}
