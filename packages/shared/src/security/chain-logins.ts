import {
  type AuthenticatorStep,
  chainFailure,
  type LoginChain,
  type LoginFailure,
  type LoginQuestion,
  type LoginVerdict,
  walkChain,
  walkChainNow,
} from '@svc/domain/access'
import { describeError } from '@svc/domain/failure'
import type { Caller, CallerOf } from './caller.ts'
import type { CountAttempt } from './ldap-directory.ts'
import type { LdapLogins } from './ldap-logins.ts'
import { LdapTraces } from './ldap-trace.ts'
import type { Authentication, Login } from './login-types.ts'
import type { MetadataLogins } from './metadata-logins.ts'
import type { LoginSource } from './password-verification.ts'
import { passwordTest, storedCredentials, type UsersAndRoles } from './users-and-roles.ts'

/** The result of the chain for a login, and the user it is about, if known. */
export interface LoginOutcome {
  /** Undefined if the login reached an authenticator that accepts everyone. */
  readonly result: Authentication | undefined
  readonly knownAs?: string | undefined
  /** Whether the login is wrong although its result is not a rejection. It counts as a guess. */
  readonly isWrong?: boolean
}

/** Checks logins with a chain of authenticators. */
export interface ChainLogins {
  /** Returns the cached caller for a login; undefined if it must be verified. */
  remembered(login: Login, current: UsersAndRoles): Promise<Caller> | undefined
  /** Verifies a login with the authenticators. */
  verify(
    login: Login,
    current: UsersAndRoles,
    countAttempt: CountAttempt,
    source: LoginSource,
  ): Promise<LoginOutcome>
}

/** Creates the logins of a chain with stored users (`metadata`) and with directories by authenticator. */
export function createChainLogins(
  chain: LoginChain,
  metadata: MetadataLogins,
  directories: ReadonlyMap<string, LdapLogins>,
  callers: CallerOf,
): ChainLogins {
  const storing = chain.members.filter(({ users }) => users === 'stored').map(({ name }) => name)

  function remembered({ user: typed, password }: Login, current: UsersAndRoles): Promise<Caller> | undefined {
    const outcome = walkChainNow(chain, passwordTest(current), typed, ({ authenticator, user }) => {
      const directory = directories.get(authenticator)
      if (directory) return directory.remembered(user, password)
      const stored = storedCredentials(current, authenticator, user)
      const isRemembered = stored && metadata.isRemembered(authenticator, user, password, stored)
      return isRemembered ? { kind: 'known', identity: user, groups: [] } : undefined
    })
    if (outcome?.kind !== 'known') return undefined
    return callers(outcome.authenticator, outcome.identity, outcome.groups, current)
  }

  async function verify(
    { user: typed, password }: Login,
    current: UsersAndRoles,
    countAttempt: CountAttempt,
    source: LoginSource,
  ): Promise<LoginOutcome> {
    const rejections = new Map<string, Promise<unknown>>()
    const traces = new LdapTraces()
    const verifyAt = async ({ authenticator, user }: LoginQuestion): Promise<LoginVerdict> => {
      const directory = directories.get(authenticator)
      if (directory) return await directory.verify(user, password, countAttempt, traces.start(authenticator))
      const stored = storedCredentials(current, authenticator, user)
      if (!stored) return { kind: 'unknown' }
      const { isCorrect, rejection } = await metadata.verify(authenticator, user, password, stored, source)
      rejections.set(authenticator, rejection)
      return isCorrect ? { kind: 'known', identity: user, groups: [] } : { kind: 'wrong', identity: user }
    }
    const outcome = await walkChain(chain, passwordTest(current), typed, verifyAt)
    if (outcome.kind === 'everyone') return { result: undefined }
    if (outcome.kind === 'known') {
      const caller = await callers(outcome.authenticator, outcome.identity, outcome.groups, current)
      return { result: { kind: 'known', caller } }
    }
    const failure = {
      ...chainFailure(chain, passwordTest(current), typed, outcome),
      directory: traces.steps().map(withFirstGroups),
    }
    if (outcome.kind === 'unavailable')
      return { result: { kind: 'unavailable', message: outcome.message, failure } }
    if (outcome.kind === 'throttled') {
      const { kind, retryAfterSeconds, identity } = outcome
      return { result: { kind, retryAfterSeconds, failure }, knownAs: identity }
    }
    // A rejection costs the same work for known and unknown users, so that its duration does not reveal which users
    // exist. Other results reveal it anyway: users of a directory do not wait in the queue for password hashing.
    const knownAs = outcome.kind === 'unknown' ? undefined : outcome.identity
    try {
      for (const name of storing) await (rejections.get(name) ?? metadata.rejectUnknown(password, source))
    } catch (error) {
      // Without a check of the password, nothing distinguishes the login from one of a user with a stored password.
      if (outcome.kind === 'unknown' && failure.directory.length === 0) throw error
      // A caller that has left must not be able to take the guess back: it would have received the answer to a correct one.
      if (!source.signal.aborted) return unanswered(error, failure, knownAs)
    }
    return { result: { kind: 'refused', failure }, knownAs }
  }

  return { remembered, verify }
}

/** Returns the outcome of a wrong login that gets another response, because too many logins are waiting. */
const unanswered = (error: unknown, failure: LoginFailure, knownAs: string | undefined): LoginOutcome => ({
  result: { kind: 'unavailable', message: describeError(error), failure },
  knownAs,
  isWrong: true,
})

// Refused requests are kept, and a user may be in thousands of groups.
const maxShownGroups = 20

const withFirstGroups = (step: AuthenticatorStep): AuthenticatorStep =>
  step.memberOf === undefined ? step : { ...step, memberOf: step.memberOf.slice(0, maxShownGroups) }
