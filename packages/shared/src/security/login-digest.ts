import { hash, randomBytes } from 'node:crypto'

/** Returns a digest function for logins with a random key, so that cached digests do not reveal passwords. */
export function digestOf(): (...parts: readonly string[]) => string {
  const [inner, outer] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
  // Nested like HMAC, but twice as fast: every request computes one.
  return (...parts) => hash('sha256', outer + hash('sha256', inner + JSON.stringify(parts)), 'base64')
}
