import { securityResource } from '@svc/domain/access'
import type { Forbidden } from '../http/index.ts'
import type { Database } from '../postgres/index.ts'
import { type Clock, keepNewest, type Logger } from '../runtime/index.ts'
import type { Caller, LoginOrigin } from '../security/index.ts'
import { startSecurityEventBatches } from './security-event-batches.ts'

/** The audit of this server: refused logins, missing permissions, and logins of administrators. */
export interface SecurityAudit {
  /**
   * A refused login; `user` is what was typed, and `knownAs` the user that it stands for. Guesses at users that exist are
   * always written under their names, however many others there are.
   */
  loginFailed(user: string, origin: LoginOrigin, knownAs: string | undefined): void
  /** A login that was verified. */
  loggedIn(caller: Caller, origin: LoginOrigin): void
  /** A request by a login that is remembered: with most of them nothing has to be done. */
  used(caller: Caller, origin: LoginOrigin): void
  forbidden(refusal: Forbidden): void
  stop(): Promise<void>
}

// A remembered login of one user from one address is written down again after this time. The servers use theirs all the
// time: it is written down once an address.
const usePeriodMs = 600_000
const mostUses = 10_000

/**
 * Starts the audit of a server. Entries are in the store within a second, or after it is back. A crash loses what came
 * in since the last write, and the number of repeated events of up to a minute.
 */
export function startSecurityAudit(
  database: Database,
  clock: Clock,
  logger: Logger,
  { server, internalUser }: { readonly server: () => string; readonly internalUser: string },
): SecurityAudit {
  const batches = startSecurityEventBatches(database, clock, logger, server)
  // Until when the uses of a login from an address are told already.
  const toldUntil = new Map<string, number>()

  const useOf = ({ authenticator, identity }: Caller, { address }: LoginOrigin): string =>
    `${address} ${authenticator} ${identity}`

  function loggedIn(caller: Caller, origin: LoginOrigin): void {
    const { identity, authenticator } = caller
    const use = useOf(caller, origin)
    const untilMs = identity === internalUser ? Number.POSITIVE_INFINITY : clock.now() + usePeriodMs
    keepNewest(toldUntil, use, untilMs, mostUses)
    if (!caller.can('WRITE', 'CONFIG', securityResource)) return
    const type = 'security.login'
    batches.add(
      { type, key: identity, identity, ip: origin.address, details: { authenticator } },
      { type, key: identity, identity },
    )
  }

  function loginFailed(user: string, origin: LoginOrigin, knownAs: string | undefined): void {
    const type = 'security.loginFailure'
    const details = {
      ...(origin.server === '' ? {} : { from: origin.server }),
      ...(knownAs === undefined || knownAs === user ? {} : { typed: user }),
    }
    // Guesses at names that nobody has are as many as somebody likes to send: they share one budget.
    batches.add(
      { type, key: knownAs ?? user, identity: '', ip: origin.address, details },
      { type, key: knownAs ?? '', identity: '' },
    )
  }

  function forbidden({ identity, address, method, path, message }: Forbidden): void {
    const type = 'security.forbidden'
    batches.add(
      { type, key: `${method} ${path}`, identity, ip: address, details: { missing: message } },
      { type, key: '', identity },
    )
  }

  return {
    loginFailed,
    loggedIn,
    used: (caller, origin) => {
      const until = toldUntil.get(useOf(caller, origin))
      if (until === undefined || until <= clock.now()) loggedIn(caller, origin)
    },
    forbidden,
    stop: batches.stop,
  }
}
