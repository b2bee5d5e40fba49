import { type LoginFailure, loginFailure, maxPasswordLength } from '@svc/domain/access'
import { maxNameLength } from '@svc/domain/validation'
import type { Login } from './login-types.ts'

/**
 * Returns why no authenticator checks a login: no user can have such a name or password, although it may be a guess at a real name.
 * Returns undefined if they check it.
 */
export function lengthFailure({
  user,
  password = '',
}: Pick<Login, 'user'> & Partial<Login>): LoginFailure | undefined {
  const failed = (what: string, max: number) =>
    loginFailure('CREDENTIALS_TOO_LONG', `The ${what} has more than [${max}] characters`)
  if (user.length > maxNameLength) return failed('user name', maxNameLength)
  return password.length > maxPasswordLength ? failed('password', maxPasswordLength) : undefined
}
