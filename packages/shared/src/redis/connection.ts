import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { Redis } from 'ioredis'
import type { Settings } from '../config/index.ts'

/** How the Redis that holds the queues is reached. */
function redisOptions(settings: Settings) {
  const password = settings.get('svc.queue.redis.password')
  const username = settings.get('svc.queue.redis.user')
  const tls = redisTls(settings)
  return {
    host: settings.get('svc.queue.redis.host'),
    port: settings.get('svc.queue.redis.port'),
    ...(username === undefined ? {} : { username }),
    ...(password === '' ? {} : { password }),
    ...(tls ? { tls } : {}),
    retryStrategy: (attempt: number) => Math.min(25 * 2 ** Math.min(attempt, 6), 1000),
  }
}

/** How TLS to Redis is spoken; undefined without it. */
function redisTls(settings: Settings): ConnectionOptions | undefined {
  if (!settings.get('svc.queue.redis.tls.enabled')) return undefined
  const caPath = settings.get('svc.queue.redis.tls.caPath')
  return {
    minVersion: 'TLSv1.2',
    ...(caPath === undefined ? {} : { ca: readFileSync(caPath) }),
    ...(settings.get('svc.queue.redis.tls.validateHostnames')
      ? {}
      : { checkServerIdentity: () => undefined }),
  }
}

/**
 * A connection for those who put work into queues: while Redis is away every command fails at once, for the
 * caller decides again later with what is true by then.
 */
export function openProducerConnection(settings: Settings): Redis {
  const redis = new Redis({
    ...redisOptions(settings),
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    commandTimeout: 5000,
  })
  redis.on('error', () => undefined)
  return redis
}

/** A connection for those who take work out of queues: it waits for Redis as long as it takes. */
export function openConsumerConnection(settings: Settings): Redis {
  const redis = new Redis({ ...redisOptions(settings), maxRetriesPerRequest: null })
  redis.on('error', () => undefined)
  return redis
}
