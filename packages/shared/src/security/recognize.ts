import { type ChainOutcome, walkChain } from '@svc/domain/access'
import type { Settings } from '../config/index.ts'
import { loginChain } from './chain.ts'
import type { LdapLogins } from './ldap-logins.ts'
import { passwordTest, type UsersAndRoles } from './users-and-roles.ts'

/** The identity for a user name with the correct password, and its authenticator; or why the login would fail. */
export type Recognition = Extract<ChainOutcome, { kind: 'known' | 'hidden' | 'unknown' | 'unavailable' }>

/** Returns how the chain of authenticators would treat a login of `user` with the correct password. */
export async function recognize(
  settings: Settings,
  directories: ReadonlyMap<string, Pick<LdapLogins, 'find'>>,
  current: UsersAndRoles,
  user: string,
): Promise<Recognition> {
  const outcome = await walkChain(
    loginChain(settings),
    passwordTest(current),
    user,
    async ({ authenticator, user: name }) =>
      (await directories.get(authenticator)?.find(name)) ?? { kind: 'known', identity: name, groups: [] },
  )
  switch (outcome.kind) {
    case 'everyone': {
      const { authenticator } = outcome
      return { kind: 'known', authenticator, identity: authenticator, groups: [] }
    }
    case 'wrong':
    case 'throttled':
      throw new Error(`Unexpected outcome [${outcome.kind}] when looking up a user`)
    default:
      return outcome
  }
}
