import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Settings } from '../config/index.ts'
import type { QueueConnection } from '../redis/index.ts'
import type { LoginThrottle } from '../security/index.ts'

/** A throttle that can be ended. */
export interface SharedThrottle extends LoginThrottle {
  stop(): void
}

// One step, so that a counter without an end of its time can never be left behind. Returns count and milliseconds left.
const countAttempt = `
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return { count, redis.call('PTTL', KEYS[1]) }`

// A login does not wait longer than this for Redis, which may stand still without being gone; for a while after one
// that waited in vain no other one asks.
const longestAnswerMs = 500
const restMs = 2000

// Counters that this process keeps while Redis is away.
const mostLocalCounters = 10_000

/** Counts failed logins in Redis, for all servers together; while Redis is away each server counts for itself. */
export function openLoginThrottle(settings: Settings, now: () => number): SharedThrottle | undefined {
  const most = settings.get('svc.auth.throttle.failures')
  const periodMs = settings.get('svc.auth.throttle.period')
  if (most === 0) return undefined
  const keyPrefix = `${settings.get('svc.queue.prefix')}:login-failures:`
  let redis: QueueConnection | undefined
  let silentUntil = Number.NEGATIVE_INFINITY
  const local = new Map<string, { count: number; readonly endsAt: number }>()
  // The names that attackers try may be long, and tell passwords that were typed in the wrong field.
  const keyOf = (user: string, address: string) =>
    `${keyPrefix}${createHash('sha256')
      .update(JSON.stringify([user, address]))
      .digest('base64url')}`

  function countLocally(key: string): { count: number; leftMs: number } {
    const time = now()
    const kept = local.get(key)
    const counter = kept && kept.endsAt > time ? kept : { count: 0, endsAt: time + periodMs }
    counter.count += 1
    local.delete(key)
    local.set(key, counter)
    for (const oldest of local.keys()) {
      if (local.size <= mostLocalCounters) break
      local.delete(oldest)
    }
    return { count: counter.count, leftMs: counter.endsAt - time }
  }

  /** Opened with the first login to verify: most servers of a quiet cluster never need it. */
  async function connected(): Promise<QueueConnection> {
    if (!redis) {
      const { openProducerConnection } = await import('../redis/index.ts')
      redis ??= openProducerConnection(settings)
    }
    const opening = redis
    if (opening.status !== 'ready') {
      // Given up with the login that waits: an attempt that was counted elsewhere is not counted later once more.
      await once(opening, 'ready', { signal: AbortSignal.timeout(longestAnswerMs) })
    }
    return opening
  }

  async function countInRedis(key: string): Promise<{ count: number; leftMs: number }> {
    const [count, leftMs] = (await (await connected()).eval(countAttempt, 1, key, periodMs)) as [
      number,
      number,
    ]
    return { count, leftMs }
  }

  /** As counted in Redis; undefined where that does not answer in time. */
  async function countTogether(key: string): Promise<{ count: number; leftMs: number } | undefined> {
    if (now() < silentUntil) return undefined
    const counted = countInRedis(key).catch(() => undefined)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, longestAnswerMs, undefined)
    })
    const answer = await Promise.race([counted, late])
    clearTimeout(timer)
    if (answer === undefined) silentUntil = now() + restMs
    return answer
  }

  return {
    begin: async (user, address) => {
      const key = keyOf(user, address)
      const attempts = (await countTogether(key)) ?? countLocally(key)
      return attempts.count > most ? Math.max(1, Math.ceil(attempts.leftMs / 1000)) : undefined
    },
    succeeded: async (user, address) => {
      const key = keyOf(user, address)
      local.delete(key)
      // Nobody waits for it: what is counted next on this connection comes after it.
      redis?.del(key).catch(() => undefined)
    },
    stop: () => redis?.disconnect(),
  }
}
