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
): (stored: UsersAndRoles) => Promise<boolean> {
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  const chain = loginChain(settings)
  const callers = createCallerCache(settings)
  const isCaller = ({ name, user }: { readonly name: string; readonly user: string }): boolean =>
    name === caller.authenticator && user === caller.identity

  return async (stored) => {
    const hasPassword = passwordTest(stored)
    const logins = chain.members.flatMap(({ name, users }) => {
      if (users === 'everyone') return [{ name, user: name, groups: [] }]
      if (users === 'directory')
        return caller.authenticator === name ? [{ name, user: caller.identity, groups: caller.groups }] : []
      return Object.keys(stored.authenticators[name] ?? {})
        .filter((user) => isLoginName(user) && hasPassword(name, user))
        .map((user) => ({ name, user, groups: [] }))
    })
    // The caller, who usually is an administrator, comes first: a transaction waits for this, and PostgreSQL ends it after a few
    // seconds, but the permissions of all users may take longer.
    const ordered = logins.toSorted((one, other) => Number(isCaller(other)) - Number(isCaller(one)))
    for (const { name, user, groups } of ordered) {
      if (user === internalUser || isHiddenUser(chain, hasPassword, name, user)) continue
      if ((await callers(name, user, groups, stored)).can('WRITE', 'CONFIG', securityResource)) return true
    }
    return false
  }
}

/** Returns whether a user with this name can log in. A colon ends the name in HTTP Basic credentials (RFC 7617). */
export const isLoginName = (name: string): boolean => !name.includes(':')
