import type { Settings } from './settings.ts'

/** Whether an authenticator lets everyone in. */
export const letsEveryoneIn = (settings: Settings, authenticator: string): boolean =>
  authenticator === 'allowAll' ||
  settings.getNamed('svc.auth.authenticator.<name>.type', authenticator) === 'allowAll'

/** Whether the users of an authenticator are in a directory. */
export const asksDirectory = (settings: Settings, authenticator: string): boolean =>
  !letsEveryoneIn(settings, authenticator) &&
  settings.getNamed('svc.auth.authenticator.<name>.credentialsValidator.type', authenticator) === 'ldap'

/** Whether the users of an authenticator are in the metadata store. */
export const storesUsers = (settings: Settings, authenticator: string): boolean =>
  !letsEveryoneIn(settings, authenticator) && !asksDirectory(settings, authenticator)

/** Whether somebody has to log in; where nobody has to, everything is allowed. */
export const asksForLogin = (settings: Settings): boolean =>
  settings.get('svc.auth.authenticatorChain').some((name) => !letsEveryoneIn(settings, name))
