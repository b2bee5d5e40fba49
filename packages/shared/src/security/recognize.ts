import { type ChainOutcome, walkChain } from '@svc/domain/access'
import { allowsAnonymous, type Settings } from '../config/index.ts'
import { loginChain } from './chain.ts'
import type { LdapLogins } from './ldap-logins.ts'
import { lengthFailure } from './length-failure.ts'
import { passwordTest, type UsersAndRoles } from './users-and-roles.ts'

/** The identity for a user name with the correct password, and its authenticator; or why the login would fail. */
export type Recognition =
  | Extract<ChainOutcome, { kind: 'known' | 'hidden' | 'unknown' | 'unavailable' }>
  /** No authenticator checks such a login. */
  | { readonly kind: 'unchecked'; readonly because: string }

/** Returns how the chain of authenticators would treat a login of `user` with the correct password. */
export async function recognize(
  settings: Settings,
  directories: ReadonlyMap<string, Pick<LdapLogins, 'find'>>,
  current: UsersAndRoles,
  user: string,
): Promise<Recognition> {
  const chain = loginChain(settings)
  const tooLong = lengthFailure({ user })
  if (tooLong !== undefined) {
    const open = settings.get('svc.auth.authenticatorChain').find((name) => allowsAnonymous(settings, name))
    return open === undefined ? unchecked(tooLong.because) : knownAsEveryone(open)
  }
  if (user.includes(':') && chain.members[0]?.users !== 'everyone')
    return unchecked('The user name in an Authorization header ends at the first colon')
  const outcome = await walkChain(
    chain,
    passwordTest(current),
    user,
    async ({ authenticator, user: name }) =>
      (await directories.get(authenticator)?.find(name)) ?? { kind: 'known', identity: name, groups: [] },
  )
  switch (outcome.kind) {
    case 'everyone':
      return knownAsEveryone(outcome.authenticator)
    case 'wrong':
    case 'throttled':
      throw new Error(`Unexpected outcome [${outcome.kind}] when looking up a user`)
    default:
      return outcome
  }
}

const unchecked = (because: string): Recognition => ({ kind: 'unchecked', because })

const knownAsEveryone = (authenticator: string): Recognition => ({
  kind: 'known',
  authenticator,
  identity: authenticator,
  groups: [],
})
