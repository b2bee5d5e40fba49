import { randomBytes as realBytes, randomInt as realInt, randomUUID as realUuid } from 'node:crypto'
import { currentProcess } from '../kernel/index.ts'

export * from 'node:crypto'

/** Returns random bytes, which depend on the seed in a simulated process. */
export function randomBytes(size: number): Buffer {
  const random = currentProcess()?.random
  if (random === undefined) return realBytes(size)
  const bytes = Buffer.allocUnsafe(size)
  for (let index = 0; index < size; index++) bytes[index] = random.below(256)
  return bytes
}

/** Returns a random UUID, which depends on the seed in a simulated process. */
export function randomUUID(): string {
  if (currentProcess() === undefined) return realUuid()
  const hex = randomBytes(16).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}

/** Returns a random integer below `max`, which depends on the seed in a simulated process. */
export function randomInt(max: number): number {
  return currentProcess()?.random.below(max) ?? realInt(max)
}
