import { allowsAnonymous, type Settings, storesUsers } from '../config/index.ts'
import { type SecurityDirectory, storedCredentials } from './users-and-roles.ts'

/** Returns the authenticators that a login can reach: none after one that accepts everyone or has no skipOnFailure. */
export function reachableAuthenticators(settings: Settings): readonly string[] {
  const chain = settings.get('svc.auth.authenticatorChain')
  const last = chain.findIndex(
    (name) =>
      allowsAnonymous(settings, name) ||
      settings.getNamed('svc.auth.authenticator.<name>.skipOnFailure', name) !== true,
  )
  return last === -1 ? chain : chain.slice(0, last + 1)
}

/**
 * Returns a test for whether a stored user hides a directory user: an earlier authenticator stores a user with that
 * name, or any authenticator stores the internal user. Directories accept several spellings of a name; the test is for
 * the identity that they return.
 */
export function hiddenUserTest(
  settings: Settings,
): (authenticator: string, identity: string, current: SecurityDirectory) => boolean {
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  const reachable = reachableAuthenticators(settings)
  const stored = new Set(reachable.filter((member) => storesUsers(settings, member)))
  return (authenticator, identity, current) => {
    const hiding =
      identity === internalUser ? reachable : reachable.slice(0, reachable.indexOf(authenticator))
    return hiding.some(
      (member) => stored.has(member) && storedCredentials(current, member, identity) !== undefined,
    )
  }
}
