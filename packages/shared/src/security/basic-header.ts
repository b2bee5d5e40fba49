import { isUtf8 } from 'node:buffer'
import { longestName, longestPassword } from '@svc/domain/access'

// A character takes at most three bytes of UTF-8, and three bytes four of base64: every login that can be stored fits.
const longestHeader = 'Basic '.length + 4 * (longestName + ':'.length + longestPassword)

const colon = 0x3a

/**
 * The user name and password of an Authorization header (RFC 7617, UTF-8), or undefined if it holds none. The scheme
 * is taken as the recorded system takes it: exactly `Basic` and one blank. No byte is lost: in a name or password that
 * is not valid UTF-8, bytes above 0x7f become unpaired surrogates, which no stored name or password has.
 */
export function readBasicHeader(header: string | undefined): { user: string; password: string } | undefined {
  const match = header !== undefined && header.length <= longestHeader && /^Basic ([\w+/=-]+) *$/.exec(header)
  if (!match) return undefined
  const bytes = Buffer.from(match[1] as string, 'base64')
  const end = bytes.indexOf(colon)
  if (end <= 0 || end === bytes.length - 1) return undefined
  return { user: decode(bytes.subarray(0, end)), password: decode(bytes.subarray(end + 1)) }
}

function decode(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  return Array.from(bytes, (byte) => String.fromCharCode(byte < 0x80 ? byte : 0xdc00 + byte)).join('')
}

/** The Authorization header that proves a user. */
export function basicHeader(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`
}
