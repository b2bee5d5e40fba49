import { allowsAnonymous, type Settings } from '../config/index.ts'
import { hiddenUserTest, reachableAuthenticators } from './chain.ts'
import type { LdapLogins } from './ldap-logins.ts'
import { type SecurityDirectory, storedCredentials } from './users-and-roles.ts'

/** The identity for a user name with the correct password, and its authenticator; or why the login would fail. */
export type Recognition =
  | {
      readonly kind: 'known'
      readonly authenticator: string
      readonly identity: string
      readonly groups: readonly string[]
    }
  /** The directory returns an identity that belongs to a user of an earlier authenticator. */
  | { readonly kind: 'hidden'; readonly authenticator: string; readonly identity: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unavailable'; readonly message: string }

/** Returns how the chain of authenticators would treat a login of `user` with the correct password. */
export async function recognize(
  settings: Settings,
  directories: ReadonlyMap<string, Pick<LdapLogins, 'find'>>,
  current: SecurityDirectory,
  user: string,
): Promise<Recognition> {
  const reachable = reachableAuthenticators(settings)
  const isHidden = hiddenUserTest(settings)
  const isInternal = user === settings.get('svc.escalator.internalClientUsername')
  const passedBy: Pick<LdapLogins, 'find'>[] = []
  let unavailable: Recognition | undefined
  for (const authenticator of reachable) {
    if (allowsAnonymous(settings, authenticator)) {
      return unavailable ?? { kind: 'known', authenticator, identity: authenticator, groups: [] }
    }
    const directory = directories.get(authenticator)
    if (!directory) {
      if (storedCredentials(current, authenticator, user))
        return { kind: 'known', authenticator, identity: user, groups: [] }
      continue
    }
    if (isInternal && isHidden(authenticator, user, current)) continue
    const found = await directory.find(user)
    if (found.kind === 'unavailable') unavailable ??= found
    if (found.kind === 'found') {
      const { identity, groups } = found
      const others = identity === user ? [] : await Promise.all(passedBy.map((other) => other.find(identity)))
      return isHidden(authenticator, identity, current) || others.some(({ kind }) => kind === 'found')
        ? (unavailable ?? { kind: 'hidden', authenticator, identity })
        : { kind: 'known', authenticator, identity, groups }
    }
    passedBy.push(directory)
  }
  return unavailable ?? { kind: 'unknown' }
}
