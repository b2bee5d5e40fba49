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

// Max waiting logins per limit, and of all limits.
const maxWaiting = 5000
const maxWaitingOfAll = 50_000

/**
 * Creates a queue in which logins that retry the same password go first, in order of their first retry. A user or
 * program that knows the password does this, while an attacker has no reason to repeat a guess. Later logins of a limit never take the
 * place of a waiting one, so a login waits only for those that retried before it. A login without a retry for
 * `timeoutMs` loses its place. After half of that time, others that are waiting no longer wait for it. If too many
 * wait in total, those of the limit that has had no new one for the longest time are dropped.
 */
export function createWaitingLogins(now: () => number, timeoutMs: number): WaitingLogins {
  const firstRefusedAt = new Map<string, number>()
  const waiting = new Map<string, Map<string, number>>()
  let waitingCount = 0

  function remove(limit: string, line: Map<string, number>, login: string): void {
    if (line.delete(login)) waitingCount -= 1
    if (line.size === 0) waiting.delete(limit)
  }

  /** Removes logins that have lost their place: at the front, or all of them. */
  function removeExpired(limit: string, line: Map<string, number>, where: 'front' | 'anywhere'): void {
    for (const [login, seenAt] of line) {
      if (now() - seenAt > timeoutMs) remove(limit, line, login)
      else if (where === 'front') return
    }
  }

  function add(limit: string, login: string): void {
    const line = waiting.get(limit) ?? new Map<string, number>()
    if (line.size >= maxWaiting) removeExpired(limit, line, 'anywhere')
    if (line.size >= maxWaiting) return
    line.set(login, now())
    waitingCount += 1
    // The limit becomes the newest one.
    waiting.delete(limit)
    waiting.set(limit, line)
    for (const [oldest, { size }] of waiting) {
      if (waitingCount <= maxWaitingOfAll) return
      waiting.delete(oldest)
      waitingCount -= size
    }
  }

  function noteReturn(limit: string, login: string): void {
    const refusedAt = firstRefusedAt.get(`${limit} ${login}`)
    if (refusedAt === undefined || now() - refusedAt < minAbsenceMs) return
    const line = waiting.get(limit)
    const seenAt = line?.get(login)
    if (line && seenAt !== undefined && now() - seenAt <= timeoutMs) {
      line.set(login, now())
      return
    }
    if (line) remove(limit, line, login)
    add(limit, login)
  }

  return {
    isFirst: (limit, login) => {
      noteReturn(limit, login)
      const line = waiting.get(limit)
      if (line) removeExpired(limit, line, 'front')
      return !line || line.size === 0 || isBeforeOthers(line, login, now() - timeoutMs / 2)
    },
    refused: (limit, login) => {
      const key = `${limit} ${login}`
      if (firstRefusedAt.has(key)) return
      keepNewest(firstRefusedAt, key, now(), maxRefused)
    },
    verified: (limit, login) => {
      firstRefusedAt.delete(`${limit} ${login}`)
      const line = waiting.get(limit)
      if (line) remove(limit, line, login)
    },
  }
}

/** Whether every login in front of this one was last seen before `since`. */
function isBeforeOthers(line: ReadonlyMap<string, number>, login: string, since: number): boolean {
  if (!line.has(login)) return false
  for (const [other, seenAt] of line) {
    if (other === login) return true
    if (seenAt >= since) return false
  }
  return false
}
