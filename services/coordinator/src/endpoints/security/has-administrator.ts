import { isHiddenUser, securityResource } from '@svc/domain/access'
import type { Settings } from '@svc/shared/config'
import {
  type Caller,
  createCallerCache,
  loginChain,
  passwordTest,
  type UsersAndRoles,
} from '@svc/shared/security'

/**
 * Returns a test for whether any user except the internal user can certainly log in and change users and roles. For users
 * of an LDAP directory, this is certain only for the caller, who has just logged in.
 */
export function administratorTest(
  settings: Settings,
  caller: Pick<Caller, 'identity' | 'authenticator' | 'groups'>,
): (stored: UsersAndRoles) => boolean {
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  const chain = loginChain(settings)
  const callers = createCallerCache(settings)

  return (stored) => {
    const hasPassword = passwordTest(stored)
    const administers = (authenticator: string, user: string, groups: readonly string[]): boolean =>
      user !== internalUser &&
      !isHiddenUser(chain, hasPassword, authenticator, user) &&
      callers(authenticator, user, groups, stored).can('WRITE', 'CONFIG', securityResource)

    return chain.members.some(({ name, users }) => {
      if (users === 'everyone') return administers(name, name, [])
      if (users === 'directory')
        return caller.authenticator === name && administers(name, caller.identity, caller.groups)
      return Object.keys(stored.authenticators[name] ?? {}).some(
        (user) => isLoginName(user) && hasPassword(name, user) && administers(name, user, []),
      )
    })
  }
}

/** Returns whether a user with this name can log in. A colon ends the name in HTTP Basic credentials (RFC 7617). */
export const isLoginName = (name: string): boolean => !name.includes(':')
