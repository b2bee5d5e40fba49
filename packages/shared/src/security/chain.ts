import type { LoginChain } from '@svc/domain/access'
import { allowsAnonymous, type Settings, usesLdap } from '../config/index.ts'

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

/** Returns the configured chain. */
export const loginChain = (settings: Settings): LoginChain => ({
  internalUser: settings.get('svc.escalator.internalClientUsername'),
  unreachable: settings.get('svc.auth.authenticatorChain').slice(reachableAuthenticators(settings).length),
  members: reachableAuthenticators(settings).map((name) => {
    if (allowsAnonymous(settings, name)) return { name, users: 'everyone' }
    return { name, users: usesLdap(settings, name) ? 'directory' : 'stored' }
  }),
})
