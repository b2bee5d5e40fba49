import type { Settings } from '../config/index.ts'

/** Whether an authenticator lets everyone in. */
export const letsEveryoneIn = (settings: Settings, authenticator: string): boolean =>
  authenticator === 'allowAll' ||
  settings.getNamed('svc.auth.authenticator.<name>.type', authenticator) === 'allowAll'

/** Whether the users of an authenticator are in a directory. */
export const asksDirectory = (settings: Settings, authenticator: string): boolean =>
  !letsEveryoneIn(settings, authenticator) &&
  settings.getNamed('svc.auth.authenticator.<name>.credentialsValidator.type', authenticator) === 'ldap'

/** The members of the chain that a login can come to: none after one that lets everyone in or that does not skip. */
export function askedAuthenticators(settings: Settings): readonly string[] {
  const chain = settings.get('svc.auth.authenticatorChain')
  const last = chain.findIndex(
    (name) =>
      letsEveryoneIn(settings, name) ||
      settings.getNamed('svc.auth.authenticator.<name>.skipOnFailure', name) !== true,
  )
  return last === -1 ? chain : chain.slice(0, last + 1)
}
