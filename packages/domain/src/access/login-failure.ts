import { hasControlCharacter } from '../validation/index.ts'
import type { AuthenticatorStep } from './directory-step.ts'
import {
  type ChainOutcome,
  type DirectoryProblem,
  type HasPassword,
  isHiddenUser,
  type LoginChain,
} from './login-chain.ts'

/** Why a login failed. The codes never change. */
const loginFailureReasons = [
  'NO_CREDENTIALS',
  'CREDENTIALS_TOO_LONG',
  'UNKNOWN_USER',
  'WRONG_PASSWORD',
  'HIDDEN_USER',
  'TOO_MANY_FAILURES',
  'TOO_MANY_LOGINS',
  'FORBIDDEN_NETWORK',
  'DIRECTORY_BIND_REJECTED',
  'DIRECTORY_TIMEOUT',
  'DIRECTORY_PAUSED',
  'DIRECTORY_FAILED',
  'USERS_NOT_LOADED',
] as const

/** Why a login failed. */
export type LoginFailureReason = (typeof loginFailureReasons)[number]

/** Why a request was refused: its login failed, or the caller may not make it. */
export const refusalReasons = [...loginFailureReasons, 'FORBIDDEN'] as const

/** Why a request was refused. */
export type RefusalReason = (typeof refusalReasons)[number]

/** The cause of a failed login: for administrators, not for the caller, because it reveals which users exist. */
export interface LoginFailureCause {
  readonly reason: LoginFailureReason
  /** A sentence without a period. */
  readonly because: string
}

/** Why a login failed, and what directories had to do with it. */
export interface LoginFailure extends LoginFailureCause {
  /** The requests to directories during the login, in order. */
  readonly directory: readonly AuthenticatorStep[]
}

/** Returns a login failure in which no directory was involved. */
export const loginFailure = (reason: LoginFailureReason, because: string): LoginFailure => ({
  reason,
  because,
  directory: [],
})

/** An outcome of a chain that rejects a login. */
export type RejectingOutcome = Exclude<ChainOutcome, { kind: 'known' | 'everyone' }>

/** Returns why a chain of authenticators rejected the login of a user. */
export function chainFailure(
  chain: LoginChain,
  hasPassword: HasPassword,
  user: string,
  outcome: RejectingOutcome,
): LoginFailureCause {
  switch (outcome.kind) {
    case 'wrong':
      return { reason: 'WRONG_PASSWORD', because: wrongPasswordText(chain, user, outcome) }
    case 'unknown':
      return { reason: 'UNKNOWN_USER', because: unknownUserText(chain, hasPassword, user) }
    case 'hidden':
      return {
        reason: 'HIDDEN_USER',
        because: `The directory of authenticator [${outcome.authenticator}] identifies [${user}] as [${outcome.identity}], which is also the name of a user of another authenticator`,
      }
    case 'throttled':
      return { reason: 'TOO_MANY_FAILURES', because: tooManyFailuresText(user, outcome.retryAfterSeconds) }
    case 'unavailable':
      return directoryFailure(outcome)
  }
}

/** Returns why a password was not checked after too many failed logins. */
export const tooManyFailuresText = (user: string, retryAfterSeconds: number): string =>
  `Too many logins had failed for [${user}] or from this address, so the password was not checked; the next attempt was possible after [${retryAfterSeconds}] seconds ([svc.auth.throttle.failures], [svc.auth.throttle.delay])`

function wrongPasswordText(
  { members }: LoginChain,
  user: string,
  { authenticator, identity }: Extract<RejectingOutcome, { kind: 'wrong' }>,
): string {
  const position = members.findIndex(({ name }) => name === authenticator)
  const isDirectory = members[position]?.users === 'directory'
  const as = identity === undefined || identity === user ? '' : ` as [${identity}]`
  const rejected = isDirectory
    ? `The directory of authenticator [${authenticator}] found [${user}]${as} but rejected the password`
    : `Authenticator [${authenticator}] stores a password for [${user}], but the request has a different one`
  const later = members.slice(position + 1).map(({ name }) => `[${name}]`)
  return later.length === 0
    ? rejected
    : `${rejected}; the first authenticator that knows a user decides, so ${later.join(', ')} did not check the login`
}

function unknownUserText(chain: LoginChain, hasPassword: HasPassword, user: string): string {
  if (hasControlCharacter(user))
    return 'The user name contains a control character, and no authenticator looks up such names'
  const results = chain.members.flatMap(({ name, users }) => {
    if (users === 'everyone') return []
    if (users === 'stored') return `authenticator [${name}] stores no password for [${user}]`
    return user === chain.internalUser && isHiddenUser(chain, hasPassword, name, user)
      ? `authenticator [${name}] never sends the password of the internal user to its directory`
      : `the directory of authenticator [${name}] has no entry for [${user}]`
  })
  const text = results.join(', and ') || 'no authenticator stores users'
  const { unreachable = [] } = chain
  const skipped =
    unreachable.length === 0
      ? ''
      : `; ${unreachable.map((name) => `[${name}]`).join(', ')} did not check the login, because [svc.auth.authenticator.${chain.members.at(-1)?.name}.skipOnFailure] is not [true]`
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${skipped}`
}

const directoryReasons = {
  bindRejected: 'DIRECTORY_BIND_REJECTED',
  timeout: 'DIRECTORY_TIMEOUT',
  paused: 'DIRECTORY_PAUSED',
  failed: 'DIRECTORY_FAILED',
} as const satisfies Record<DirectoryProblem['kind'], LoginFailureReason>

/** Returns why a directory did not check a login. */
function directoryFailure({
  authenticator,
  message,
  problem,
}: Extract<RejectingOutcome, { kind: 'unavailable' }>): LoginFailureCause {
  if (!problem) return { reason: 'DIRECTORY_FAILED', because: message }
  const directory = `The directory of authenticator [${authenticator}]`
  const { kind, error } = problem
  const texts = {
    bindRejected: `${directory} rejected the bind user: ${error}; check [svc.auth.authenticator.${authenticator}.credentialsValidator.bindUser] and [bindPassword]`,
    timeout: `${directory} did not respond in time: ${error}`,
    paused: `${directory} was not queried, because an earlier request has just failed or has not been answered`,
    failed: `${directory} failed: ${error}`,
  } as const
  return { reason: directoryReasons[kind], because: texts[kind] }
}
