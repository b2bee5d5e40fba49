import { securityResource } from '@svc/domain/access'
import { describeError } from '@svc/domain/failure'
import type { Forbidden } from '../http/index.ts'
import { type Database, type SecurityEventType, saveSecurityEvents } from '../postgres/index.ts'
import type { Clock, Logger } from '../runtime/index.ts'
import type { Caller, LoginOrigin } from '../security/index.ts'

/** Writes down what happens at the door of this server: refused logins, missing permissions, administrators. */
export interface SecurityAudit {
  loginFailed(user: string, origin: LoginOrigin): void
  /** A login that was verified. */
  loggedIn(caller: Caller, origin: LoginOrigin): void
  /** A request by a login that is remembered: with most of them nothing has to be done. */
  used(caller: Caller, origin: LoginOrigin): void
  forbidden(refusal: Forbidden): void
  stop(): Promise<void>
}

interface Happening {
  readonly type: SecurityEventType
  readonly key: string
  readonly identity: string
  readonly ip: string
  readonly details: object
}

interface Counted {
  happening: Happening
  count: number
  dueAt: number
}

// The first of a kind is written at once; those like it within this time become one entry with their number.
const repeatMs = 60_000
const writePeriodMs = 500
// A flood of different ones is written with so many entries, and one more each second; the rest is counted together.
const mostEntries = 60
const mostKinds = 2000
const longestText = 256
// A remembered login of one user from one address is written down again after this time. The servers use theirs all the
// time: it is written down once an address.
const usePeriodMs = 600_000
const mostUses = 10_000

/** The audit of a server; entries are in the store within a second, or after it is back. */
export function startSecurityAudit(
  database: Database,
  clock: Clock,
  logger: Logger,
  { server, internalUser }: { readonly server: () => string; readonly internalUser: string },
): SecurityAudit {
  const kinds = new Map<string, Counted>()
  // Until when the uses of a login from an address are told already.
  const toldUntil = new Map<string, number>()
  let budget = mostEntries
  let budgetAt = clock.now()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  function note(happening: Happening): void {
    const key = JSON.stringify([happening.type, happening.key, happening.identity, happening.ip])
    const counted = kinds.get(key)
    if (counted) {
      counted.happening = happening
      counted.count += 1
    } else if (kinds.size < mostKinds) {
      kinds.set(key, { happening, count: 1, dueAt: clock.now() })
    } else noteAmongOthers(happening, 1)
    timer ??= setTimeout(write, writePeriodMs).unref()
  }

  function noteAmongOthers({ type }: Happening, count: number): void {
    const key = JSON.stringify([type])
    const others = kinds.get(key) ?? {
      happening: { type, key: '', identity: '', ip: '', details: { others: true } },
      count: 0,
      dueAt: clock.now() + repeatMs,
    }
    others.count += count
    kinds.set(key, others)
  }

  /** What is due now, within the budget. */
  function takeDue(now: number): Counted[] {
    budget = Math.min(mostEntries, budget + Math.floor((now - budgetAt) / 1000))
    if (now - budgetAt >= 1000) budgetAt = now
    const due: Counted[] = []
    for (const [key, counted] of [...kinds]) {
      if (counted.dueAt > now) continue
      if (counted.count === 0) {
        kinds.delete(key)
        continue
      }
      const isOthers = counted.happening.key === '' && counted.happening.ip === ''
      if (isOthers || budget > 0) {
        if (!isOthers) budget -= 1
        due.push({ ...counted })
      } else noteAmongOthers(counted.happening, counted.count)
      counted.count = 0
      counted.dueAt = now + repeatMs
    }
    return due
  }

  function write(): void {
    timer = undefined
    const now = clock.now()
    const due = takeDue(now)
    const entries = due.map(({ happening: { type, key, identity, ip, details }, count }) => ({
      type,
      key: key.slice(0, longestText),
      author: '',
      comment: '',
      identity: identity.slice(0, longestText),
      ip,
      payload: JSON.stringify({ ...details, count, server: server() }),
    }))
    if (entries.length > 0) {
      writing = saveSecurityEvents(database, entries, now).catch((error) => {
        logger.warn('What happened at the door cannot be written down now; it is tried again', {
          error: describeError(error),
        })
        for (const { happening, count } of due) noteAmongOthers(happening, count)
      })
    }
    if (kinds.size > 0)
      timer ??= setTimeout(write, entries.length > 0 ? writePeriodMs : 5 * writePeriodMs).unref()
  }

  const useOf = ({ authenticator, identity }: Caller, { address }: LoginOrigin): string =>
    `${address} ${authenticator} ${identity}`

  function loggedIn(caller: Caller, origin: LoginOrigin): void {
    const { identity, authenticator } = caller
    const use = useOf(caller, origin)
    toldUntil.delete(use)
    toldUntil.set(use, identity === internalUser ? Number.POSITIVE_INFINITY : clock.now() + usePeriodMs)
    for (const oldest of toldUntil.keys()) {
      if (toldUntil.size <= mostUses) break
      toldUntil.delete(oldest)
    }
    if (!caller.can('WRITE', 'CONFIG', securityResource)) return
    note({
      type: 'security.login',
      key: identity,
      identity,
      ip: origin.address,
      details: { authenticator },
    })
  }

  return {
    loginFailed: (user, origin) =>
      note({
        type: 'security.loginFailure',
        key: user,
        identity: '',
        ip: origin.address,
        details: origin.server === '' ? {} : { from: origin.server.slice(0, longestText) },
      }),
    loggedIn,
    used: (caller, origin) => {
      const until = toldUntil.get(useOf(caller, origin))
      if (until === undefined || until <= clock.now()) loggedIn(caller, origin)
    },
    forbidden: ({ identity, address, method, path, message }) =>
      note({
        type: 'security.forbidden',
        key: `${method} ${path}`.slice(0, longestText),
        identity,
        ip: address,
        details: { missing: message },
      }),
    stop: async () => {
      clearTimeout(timer)
      for (const counted of kinds.values()) counted.dueAt = 0
      write()
      clearTimeout(timer)
      await writing
    },
  }
}
