import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { Redis } from 'ioredis'
import type { Settings } from '../config/index.ts'
import { minTlsVersion } from '../tls/index.ts'

/** Connection options for the Redis server with the queues. */
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

/** TLS options for Redis; undefined without TLS. */
function redisTls(settings: Settings): ConnectionOptions | undefined {
  if (!settings.get('svc.queue.redis.tls.enabled')) return undefined
  const caPath = settings.get('svc.queue.redis.tls.caPath')
  return {
    minVersion: minTlsVersion,
    ...(caPath === undefined ? {} : { ca: readFileSync(caPath) }),
    ...(settings.get('svc.queue.redis.tls.validateHostnames')
      ? {}
      : { checkServerIdentity: () => undefined }),
  }
}

/**
 * Opens a connection for producers. While Redis is unavailable, every command fails immediately, because the caller
 * decides again later from the state at that time.
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

/** Opens a connection for consumers. It waits for Redis without a time limit. */
export function openConsumerConnection(settings: Settings): Redis {
  const redis = new Redis({ ...redisOptions(settings), maxRetriesPerRequest: null })
  redis.on('error', () => undefined)
  return redis
}

/** Deletes all queues of the cluster. */
export async function deleteQueues(settings: Settings): Promise<void> {
  const redis = openConsumerConnection(settings)
  try {
    const keys = await redis.keys(`${settings.get('svc.queue.prefix')}:*`)
    if (keys.length > 0) await redis.unlink(keys)
  } finally {
    redis.disconnect()
  }
}
