import type { Settings } from './settings.ts'

/** Returns whether an authenticator accepts everyone without a login. */
export const allowsAnonymous = (settings: Settings, authenticator: string): boolean =>
  authenticator === 'allowAll' ||
  settings.getNamed('svc.auth.authenticator.<name>.type', authenticator) === 'allowAll'

/** Returns whether the users of an authenticator are in a directory. */
export const usesLdap = (settings: Settings, authenticator: string): boolean =>
  !allowsAnonymous(settings, authenticator) &&
  settings.getNamed('svc.auth.authenticator.<name>.credentialsValidator.type', authenticator) === 'ldap'

/** Returns whether the users of an authenticator are in the metadata store. */
export const storesUsers = (settings: Settings, authenticator: string): boolean =>
  !allowsAnonymous(settings, authenticator) && !usesLdap(settings, authenticator)

/** Returns whether the cluster requires a login. Without logins, everything is allowed. */
export const requiresLogin = (settings: Settings): boolean =>
  settings.get('svc.auth.authenticatorChain').some((name) => !allowsAnonymous(settings, name))
