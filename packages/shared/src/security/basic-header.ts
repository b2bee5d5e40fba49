import { longestName, longestPassword } from '@svc/domain/access'

// A character takes at most three bytes of UTF-8, and three bytes four of base64: every login that can be stored fits.
const longestHeader = 'Basic '.length + 4 * (longestName + ':'.length + longestPassword)

/**
 * The user name and password of an Authorization header (RFC 7617, UTF-8), or undefined if it holds none. The scheme
 * is taken as the recorded system takes it: exactly `Basic` and one blank.
 */
export function readBasicHeader(header: string | undefined): { user: string; password: string } | undefined {
  const match = header !== undefined && header.length <= longestHeader && /^Basic ([\w+/=-]+) *$/.exec(header)
  if (!match) return undefined
  const text = Buffer.from(match[1] as string, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  const user = text.slice(0, colon)
  const password = text.slice(colon + 1)
  return colon > 0 && password !== '' ? { user, password } : undefined
}

/** The Authorization header that proves a user. */
export function basicHeader(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`
}
