import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'

/**
 * Returns the ID of the current lifetime of the queues. A producer that later reads a different ID knows that the
 * queues were lost in between and adds the missing work again.
 */
export async function readQueueEpoch(redis: Redis, prefix: string): Promise<string> {
  const key = `${prefix}:epoch`
  const found = await redis.get(key)
  if (found) return found
  await redis.set(key, randomUUID(), 'NX')
  return (await redis.get(key)) ?? ''
}
