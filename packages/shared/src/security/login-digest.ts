import { createHmac, randomBytes } from 'node:crypto'

/** A digest of logins, with a key that only this process has: what is remembered by it tells no password. */
export function digestOf(): (...parts: readonly string[]) => string {
  const key = randomBytes(32)
  return (...parts) => createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64')
}
