import { allowsAnonymous, type Settings, usesLdap } from '@svc/shared/config'
import type { Recognition, UsersAndRoles } from '@svc/shared/security'

/** What an authenticator knows about a user. */
const knowledgeTexts = {
  everyone: 'accepts everyone',
  directory: 'looks up users in its directory',
  found: 'found the user in its directory',
  unavailable: 'cannot query its directory',
  unknown: 'does not know the user',
  withoutPassword: 'knows the user, but no password is set',
  known: 'knows the user',
} as const

/** Returns the authorizer of the users of an authenticator. */
export function authorizerOf(settings: Settings, authenticator: string): string {
  const [first] = settings.get('svc.auth.authenticatorChain')
  if (authenticator === 'allowAll' && first === 'allowAll') return 'allowAll'
  return settings.getNamed('svc.auth.authenticator.<name>.authorizerName', authenticator) ?? ''
}

/**
 * Returns the authenticators of the chain in order, with what each one knows about the user and whether it uses the
 * authorizer.
 */
export function knowledgeOfChain(
  settings: Settings,
  stored: UsersAndRoles,
  user: string,
  recognition: Recognition,
  authorizer: string,
) {
  return settings.get('svc.auth.authenticatorChain').map((name) => {
    const knowledge = knowledgeOf(settings, name, stored, user, recognition)
    const knows = knowledgeTexts[knowledge]
    const usesThisAuthorizer = authorizerOf(settings, name) === authorizer
    if (knowledge === 'everyone') return { name, knows, usesThisAuthorizer }
    const skipOnFailure = settings.getNamed('svc.auth.authenticator.<name>.skipOnFailure', name) === true
    return { name, knows, skipOnFailure, usesThisAuthorizer }
  })
}

function knowledgeOf(
  settings: Settings,
  authenticator: string,
  stored: UsersAndRoles,
  user: string,
  recognition: Recognition,
): keyof typeof knowledgeTexts {
  if (allowsAnonymous(settings, authenticator)) return 'everyone'
  if (usesLdap(settings, authenticator)) {
    if (!('authenticator' in recognition) || recognition.authenticator !== authenticator) return 'directory'
    return recognition.kind === 'unavailable' ? 'unavailable' : 'found'
  }
  const users = stored.authenticators[authenticator] ?? {}
  if (!Object.hasOwn(users, user)) return 'unknown'
  return users[user] === null ? 'withoutPassword' : 'known'
}
