import { keepNewest } from '../runtime/index.ts'

/** The queue of throttled logins, which decides which one is verified next. */
export interface WaitingLogins {
  /** Returns whether a login, given by its digest, is first in line for a limit. Records that it was retried. */
  isFirst(limit: string, login: string): boolean
  /** Records that a login was throttled. */
  refused(limit: string, login: string): void
  /** Records that a login was verified, and removes it from the queue. */
  verified(limit: string, login: string): void
}

// Max remembered throttled logins: enough that a flood of guesses does not evict a login before its retry.
const maxRefused = 50_000

// A repeated login counts as a retry only after this time.
const minAbsenceMs = 500

// Max waiting logins per limit, and max limits with waiting logins.
const maxWaiting = 64
const maxLimits = 1000

/**
 * Creates a queue in which logins that retry the same password go first, in order of their first retry. A user or
 * program that knows the password does this, while an attacker has no reason to repeat a guess. A login without a retry
 * for `timeoutMs` loses its place.
 */
export function createWaitingLogins(now: () => number, timeoutMs: number): WaitingLogins {
  const firstRefusedAt = new Map<string, number>()
  const waiting = new Map<string, Map<string, number>>()

  /** Returns the logins that wait for a limit, after removing those that have lost their place. */
  function waitingFor(limit: string): Map<string, number> | undefined {
    const line = waiting.get(limit)
    if (!line) return undefined
    for (const [login, seenAt] of line) if (now() - seenAt > timeoutMs) line.delete(login)
    if (line.size > 0) return line
    waiting.delete(limit)
    return undefined
  }

  function noteReturn(limit: string, login: string): void {
    const refusedAt = firstRefusedAt.get(`${limit} ${login}`)
    if (refusedAt === undefined || now() - refusedAt < minAbsenceMs) return
    const line = waitingFor(limit) ?? new Map<string, number>()
    if (!line.has(login) && line.size >= maxWaiting) return
    line.set(login, now())
    keepNewest(waiting, limit, line, maxLimits)
  }

  return {
    isFirst: (limit, login) => {
      noteReturn(limit, login)
      const [first] = waitingFor(limit)?.keys() ?? []
      return first === undefined || first === login
    },
    refused: (limit, login) => {
      const key = `${limit} ${login}`
      if (firstRefusedAt.has(key)) return
      keepNewest(firstRefusedAt, key, now(), maxRefused)
    },
    verified: (limit, login) => {
      firstRefusedAt.delete(`${limit} ${login}`)
      waiting.get(limit)?.delete(login)
    },
  }
}
