import { type LoginFailureCause, securityResource } from '@svc/domain/access'
import type { Forbidden } from '../http/index.ts'
import type { Database } from '../postgres/index.ts'
import { type Clock, keepNewest, type Logger } from '../runtime/index.ts'
import type { Caller, LoginOrigin } from '../security/index.ts'
import { startSecurityEventBatches } from './security-event-batches.ts'

/** The audit log of this server: rejected logins, missing permissions, and logins of administrators. */
export interface SecurityAudit {
  /**
   * Records a rejected login; `user` is the typed name, and `knownAs` the user that it belongs to. Guesses at existing
   * users are always recorded under their names, even among many others.
   */
  loginFailed(
    user: string,
    origin: LoginOrigin,
    knownAs: string | undefined,
    failure: LoginFailureCause,
  ): void
  /** Records a verified login. */
  loggedIn(caller: Caller, origin: LoginOrigin): void
  /** Records a request with a cached login; most of them need no entry. */
  used(caller: Caller, origin: LoginOrigin): void
  forbidden(refusal: Forbidden): void
  /** Writes what is pending, and records the next use of each login again. */
  startOver(): Promise<void>
  stop(): Promise<void>
}

// A cached login of one user from one address is recorded again after this time. Servers use their login all the time,
// so it is recorded once per address.
const usePeriodMs = 600_000
const maxRememberedUses = 10_000

/**
 * Starts the audit log of a server. Entries are stored within a second, or when the store is available again. A crash
 * loses events since the last write, and up to a minute of counts of repeated events.
 */
export function startSecurityAudit(
  database: Database,
  clock: Clock,
  logger: Logger,
  { server, internalUser }: { readonly server: () => string; readonly internalUser: string },
): SecurityAudit {
  const batches = startSecurityEventBatches(database, clock, logger, server)
  // For each login and address, the time until which its use is already recorded.
  const recordedUntil = new Map<string, number>()

  const useOf = ({ authenticator, identity }: Caller, { address }: LoginOrigin): string =>
    `${address} ${authenticator} ${identity}`

  function loggedIn(caller: Caller, origin: LoginOrigin): void {
    const { identity, authenticator } = caller
    const use = useOf(caller, origin)
    const untilMs = identity === internalUser ? Number.POSITIVE_INFINITY : clock.now() + usePeriodMs
    keepNewest(recordedUntil, use, untilMs, maxRememberedUses)
    if (!caller.can('WRITE', 'CONFIG', securityResource)) return
    const type = 'security.login'
    batches.add(
      { type, key: identity, identity, ip: origin.address, details: { authenticator, ...requestOf(origin) } },
      { type, key: identity, identity },
    )
  }

  function loginFailed(
    user: string,
    origin: LoginOrigin,
    knownAs: string | undefined,
    failure: LoginFailureCause,
  ): void {
    const type = 'security.loginFailure'
    const details = failureDetails(user, origin, knownAs, failure)
    // Attackers can guess any number of unknown names, so these share one budget.
    batches.add(
      { type, key: knownAs ?? user, identity: '', ip: origin.address, details },
      { type, key: knownAs ?? '', identity: '' },
    )
  }

  function forbidden({ identity, address, method, path, message, requestId }: Forbidden): void {
    const type = 'security.forbidden'
    batches.add(
      { type, key: `${method} ${path}`, identity, ip: address, details: { requestId, missing: message } },
      { type, key: '', identity },
    )
  }

  return {
    loginFailed,
    loggedIn,
    used: (caller, origin) => {
      const until = recordedUntil.get(useOf(caller, origin))
      if (until === undefined || until <= clock.now()) loggedIn(caller, origin)
    },
    forbidden,
    startOver: async () => {
      recordedUntil.clear()
      await batches.stop()
    },
    stop: batches.stop,
  }
}

/** The request of an event, which explains it with `./svc auth explain --request`. */
const requestOf = ({ requestId }: LoginOrigin): { readonly requestId?: string } =>
  requestId === undefined ? {} : { requestId }

function failureDetails(
  user: string,
  origin: LoginOrigin,
  knownAs: string | undefined,
  { reason, because }: LoginFailureCause,
) {
  return {
    ...requestOf(origin),
    reason,
    because,
    ...(origin.server === '' ? {} : { from: origin.server }),
    ...(knownAs === undefined || knownAs === user ? {} : { typed: user }),
    ...(reason === 'TOO_MANY_FAILURES' ? { throttled: true } : {}),
    ...(reason === 'TOO_MANY_LOGINS' ? { unverified: true } : {}),
  }
}
