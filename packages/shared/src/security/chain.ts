import { letsEveryoneIn, type Settings, storesUsers } from '../config/index.ts'
import { type SecurityDirectory, storedCredentials } from './users-and-roles.ts'

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

/**
 * The test of whether stored users hide a user of a directory: an earlier member has that name, or any member the
 * internal user. Directories know a user by many spellings; the one that counts is the identity that they prove.
 */
export function hiddenUserTest(
  settings: Settings,
): (authenticator: string, identity: string, current: SecurityDirectory) => boolean {
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  const asked = askedAuthenticators(settings)
  const stored = new Set(asked.filter((member) => storesUsers(settings, member)))
  return (authenticator, identity, current) => {
    const hiding = identity === internalUser ? asked : asked.slice(0, asked.indexOf(authenticator))
    return hiding.some(
      (member) => stored.has(member) && storedCredentials(current, member, identity) !== undefined,
    )
  }
}
