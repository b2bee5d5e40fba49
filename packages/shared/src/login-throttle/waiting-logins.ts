import { keepNewest } from '../runtime/index.ts'

/** The logins that were refused because too many had failed, and whose turn it is when one may be verified again. */
export interface WaitingLogins {
  /** Whether a login, known by a digest, goes before all others that wait for the same limit. Notes that it is back. */
  isFirst(limit: string, login: string): boolean
  /** Notes that a login was refused. */
  refused(limit: string, login: string): void
  /** Notes that a login was verified: it waits no longer. */
  verified(limit: string, login: string): void
}

// Refused logins that are remembered, whoever sends them: a flood of guesses does not drive one out before it is back.
const maxRefused = 50_000

// A login is back if it is repeated after this time.
const minAbsenceMs = 500

// Logins that wait for one limit, and limits with waiting logins.
const maxWaiting = 64
const maxLimits = 1000

/**
 * Logins that are repeated with the same password go first, in the order in which they began: that is what a user or
 * a program does that knows the password. A guesser has no reason to repeat a guess. A login that is not repeated for
 * `patienceMs` loses its place.
 */
export function createWaitingLogins(now: () => number, patienceMs: number): WaitingLogins {
  const firstRefusedAt = new Map<string, number>()
  const waiting = new Map<string, Map<string, number>>()

  /** The logins that wait for a limit, without those that have lost their place. */
  function waitingFor(limit: string): Map<string, number> | undefined {
    const line = waiting.get(limit)
    if (!line) return undefined
    for (const [login, seenAt] of line) if (now() - seenAt > patienceMs) line.delete(login)
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
