import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Settings } from '../config/index.ts'
import type { QueueConnection } from '../redis/index.ts'
import { createLocalCounts } from './local-counts.ts'
import type { CountedAttempt } from './login-counts.ts'
import type { LoginAttempt, LoginThrottle } from './login-throttle.ts'
import { createRedisCounts } from './redis-counts.ts'
import { createWaitingLogins } from './waiting-logins.ts'

/** A throttle that can be stopped. */
export interface SharedThrottle extends LoginThrottle {
  /** Forgets the failed logins that are counted in the memory of this server. */
  forget(): void
  stop(): void
}

// Max time a login waits for Redis, which may hang. After such a timeout, Redis is not queried for a while.
const maxAnswerMs = 500
const restMs = 2000

// Factors for the limits of one user from all addresses, and of all users from one address: people log in from several
// places, and entire companies share an address.
const ofAllAddresses = 10
const ofAllUsers = 100

// Beyond the limit of an address, its logins are verified this many times as often as those of one user.
const usersAtOnce = 10

// How long an address is known for a user after a login. Guesses from other addresses do not throttle it.
const knownMs = 30 * 24 * 60 * 60 * 1000

// Min time for which a waiting login keeps its place: people do not retry to the second.
const minPatienceMs = 30_000

/**
 * Creates a throttle that counts failed logins of all servers in Redis. While Redis is unavailable, each server counts
 * separately. Returns undefined if throttling is disabled.
 */
export function openLoginThrottle(settings: Settings, now: () => number): SharedThrottle | undefined {
  if (settings.get('svc.auth.throttle.failures') === 0) return undefined
  const periodMs = settings.get('svc.auth.throttle.period')
  const delayMs = settings.get('svc.auth.throttle.delay')
  const openWaiting = () => createWaitingLogins(now, Math.max(minPatienceMs, 3 * delayMs))
  let waiting = openWaiting()
  let local = createLocalCounts(now)
  const redis = connectOnDemand(settings)
  const shared = createRedisCounts(redis.connected)
  const answerInTime = createPatience(now)
  const counted = attemptCounter(settings, (limit, login) => waiting.isFirst(limit, login))

  return {
    begin: async (attempt) => {
      const one = counted(attempt)
      const waitMs =
        (await answerInTime(() => shared.begin(one, periodMs))) ?? (await local.begin(one, periodMs))
      for (const { key } of one.limits) waiting[waitMs > 0 ? 'refused' : 'verified'](key, attempt.digest)
      return waitMs > 0 ? Math.ceil(waitMs / 1000) : undefined
    },
    succeeded: async (attempt) => {
      const one = counted(attempt)
      await local.succeeded(one, knownMs)
      // Not awaited: later commands on this connection run after it.
      if (redis.isOpened()) shared.succeeded(one, knownMs).catch(() => undefined)
    },
    undecided: async (attempt) => {
      const one = counted(attempt)
      await local.undecided(one)
      if (redis.isOpened()) shared.undecided(one).catch(() => undefined)
    },
    forget: () => {
      waiting = openWaiting()
      local = createLocalCounts(now)
    },
    stop: redis.disconnect,
  }
}

/** Returns a function that determines the limits that an attempt counts toward. */
function attemptCounter(
  settings: Settings,
  isFirst: (limit: string, login: string) => boolean,
): (attempt: LoginAttempt) => CountedAttempt {
  const max = settings.get('svc.auth.throttle.failures')
  const delayMs = settings.get('svc.auth.throttle.delay')
  const keyPrefix = `${settings.get('svc.queue.prefix')}:login-failures:`

  // Hashed, because names of attackers may be long, and users may type their password as the name.
  const keyOf = (...parts: readonly string[]) =>
    `${keyPrefix}${createHash('sha256').update(JSON.stringify(parts)).digest('base64url')}`

  return ({ user, address, digest }) => {
    const limit = (key: string, factor = 1, limitDelayMs = delayMs) => ({
      key,
      max: factor * max,
      delayMs: limitDelayMs,
      isFirst: isFirst(key, digest),
    })
    return {
      limits: [
        limit(keyOf(user, address)),
        limit(keyOf('user', user, ''), ofAllAddresses),
        limit(keyOf('address', '', address), ofAllUsers, Math.ceil(delayMs / usersAtOnce)),
      ],
      source: keyOf('known', user, address),
    }
  }
}

/** Connects to Redis when the first login is verified: most servers of a quiet cluster never need it. */
function connectOnDemand(settings: Settings) {
  let redis: QueueConnection | undefined
  let ready: Promise<unknown> | undefined
  return {
    isOpened: () => redis !== undefined,
    disconnect: () => redis?.disconnect(),
    connected: async (): Promise<QueueConnection> => {
      if (!redis) {
        const { openProducerConnection } = await import('../redis/index.ts')
        redis ??= openProducerConnection(settings)
      }
      const opening = redis
      if (opening.status !== 'ready') {
        // Times out together with the waiting logins: an attempt that was counted locally must not be counted again
        // later.
        ready ??= once(opening, 'ready', { signal: AbortSignal.timeout(maxAnswerMs) }).finally(() => {
          ready = undefined
        })
        await ready
      }
      return opening
    },
  }
}

/** Returns a function that returns the response of Redis; undefined if it does not arrive in time. */
function createPatience(now: () => number) {
  let silentUntil = Number.NEGATIVE_INFINITY
  return async (request: () => Promise<number>): Promise<number | undefined> => {
    if (now() < silentUntil) return undefined
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, maxAnswerMs, undefined)
    })
    const answer = await Promise.race([request().catch(() => undefined), late])
    clearTimeout(timer)
    if (answer === undefined) silentUntil = now() + restMs
    return answer
  }
}
