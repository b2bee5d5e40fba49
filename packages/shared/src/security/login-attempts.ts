import { type LoginFailure, loginFailure, tooManyFailuresText } from '@svc/domain/access'
import { Failure } from '@svc/domain/failure'
import type { LoginAttempt, LoginThrottle } from '../login-throttle/index.ts'
import type { Caller } from './caller.ts'
import type { ChainLogins, LoginOutcome } from './chain-logins.ts'
import { countedName } from './counted-name.ts'
import { createEqualRequests } from './equal-requests.ts'
import type { CountAttempt } from './ldap-directory.ts'
import { digestOf } from './login-digest.ts'
import type { Authentication, Login, LoginOrigin, OnRefused } from './login-types.ts'
import type { LoginSource } from './password-verification.ts'
import { LostTurn } from './turns.ts'
import type { UsersAndRoles } from './users-and-roles.ts'

/** Verifies logins, and counts them toward the limits of the throttle. */
export interface LoginAttempts {
  /** Returns undefined if the login reached an authenticator that accepts everyone. */
  verify(login: Login, origin: LoginOrigin, current: UsersAndRoles): Promise<Authentication | undefined>
}

/** What `createLoginAttempts` needs. */
export interface LoginAttemptParts {
  readonly logins: ChainLogins
  readonly throttle: LoginThrottle
  /** Whether a login is the one of this server. */
  readonly isOwnEscalator: (login: Login) => boolean
  /** Returns the user for a typed name, if it is known without querying a directory. */
  readonly knownName: (user: string, current: UsersAndRoles) => string | undefined
  readonly onRefused: OnRefused
  readonly onVerified: (login: Login, origin: LoginOrigin, caller: Caller) => void
}

/** The failure of a login that was rejected because too many others were being verified. */
export const notVerified = loginFailure(
  'TOO_MANY_LOGINS',
  'Too many logins were being verified, so the password was not checked',
)

/**
 * Creates login attempts. Equal concurrent logins are verified once, unless users or passwords changed in between; each
 * of them is reported if it is rejected.
 */
export function createLoginAttempts(parts: LoginAttemptParts): LoginAttempts {
  const { logins, throttle, isOwnEscalator, knownName, onRefused, onVerified } = parts
  const digest = digestOf()
  const verifications = createEqualRequests<LoginOutcome>()

  async function verifyCounted(
    login: Login,
    origin: LoginOrigin,
    current: UsersAndRoles,
    signal: AbortSignal,
  ): Promise<LoginOutcome> {
    const { count, settle } = countAttempts(throttle, isOwnEscalator(login), (user) => ({
      user,
      address: origin.address,
      digest: digest(user, login.password),
    }))
    const source = { address: origin.address, signal }
    const outcome = await verifyOrRecall(logins, login, current, count, source).catch(async (error) => {
      // Logins that were abandoned count, whether or not the user exists: their password may have been checked.
      if (!signal.aborted && !(error instanceof LostTurn)) await settle('undecided')
      throw error
    })
    if (rejectionOf(outcome)) return outcome
    // Only rejections and abandoned logins count, not logins that could not be verified.
    const { result } = outcome
    await settle(result?.kind === 'known' ? 'succeeded' : 'undecided')
    if (result?.kind === 'known') onVerified(login, origin, result.caller)
    return outcome
  }

  /** Reports a guess at an existing user that was not verified. */
  function reportOverload(error: unknown, login: Login, origin: LoginOrigin, current: UsersAndRoles): void {
    const name = knownName(login.user, current)
    if (error instanceof Failure && error.code === 'unavailable' && name !== undefined)
      onRefused(login.user, origin, notVerified, name)
  }

  return {
    verify: async (login, origin, current) => {
      const key = digest(String(current.version), login.user, login.password, origin.address)
      const outcome = await verifications
        .join(key, origin.leaving?.(), (signal) => verifyCounted(login, origin, current, signal))
        .catch((error) => {
          reportOverload(error, login, origin, current)
          throw error
        })
      const failure = rejectionOf(outcome)
      if (failure) onRefused(login.user, origin, failure, outcome.knownAs ?? knownName(login.user, current))
      return outcome.result
    },
  }
}

/** Returns why a login was rejected; undefined if it was accepted or could not be verified. */
function rejectionOf({ result, isWrong = false }: LoginOutcome): LoginFailure | undefined {
  if (!result || result.kind === 'known') return undefined
  return result.kind !== 'unavailable' || isWrong ? result.failure : undefined
}

/**
 * Verifies a login, or uses the cached result from another address. This still counts as an attempt: it may be a guess.
 */
async function verifyOrRecall(
  logins: ChainLogins,
  login: Login,
  current: UsersAndRoles,
  countAttempt: CountAttempt,
  source: LoginSource,
): Promise<LoginOutcome> {
  const retryAfterSeconds = await countAttempt(login.user)
  if (retryAfterSeconds !== undefined) {
    const because = tooManyFailuresText(login.user, retryAfterSeconds)
    const failure = loginFailure('TOO_MANY_FAILURES', because)
    return { result: { kind: 'throttled', retryAfterSeconds, failure } }
  }
  const caller = await logins.remembered(login, current)
  return caller
    ? { result: { kind: 'known', caller } }
    : await logins.verify(login, current, countAttempt, source)
}

/** Counts the attempts of one login, once for each name of its user. */
function countAttempts(
  throttle: LoginThrottle,
  isExempt: boolean,
  attemptOf: (user: string) => LoginAttempt,
): { readonly count: CountAttempt; settle(how: 'succeeded' | 'undecided'): Promise<void> } {
  const attempts = new Map<string, LoginAttempt>()
  return {
    count: async (user) => {
      const name = countedName(user)
      // A login with the correct internal password is not a guess, so calls of servers are never throttled.
      if (attempts.has(name) || isExempt) return undefined
      const attempt = attemptOf(name)
      const waitSeconds = await throttle.begin(attempt)
      if (waitSeconds === undefined) attempts.set(name, attempt)
      return waitSeconds
    },
    settle: async (how) => {
      for (const attempt of attempts.values()) await throttle[how](attempt)
    },
  }
}
