import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'

/**
 * The mark of one life of Redis: whoever put work into queues and finds another mark later knows that the queues
 * were lost in between and puts in again what is missing.
 */
export async function readQueueEpoch(redis: Redis, prefix: string): Promise<string> {
  const key = `${prefix}:epoch`
  const found = await redis.get(key)
  if (found) return found
  await redis.set(key, randomUUID(), 'NX')
  return (await redis.get(key)) ?? ''
}
