import { isUtf8 } from 'node:buffer'

const colon = 0x3a

// Base64 with either alphabet, with or without padding, and nothing after the padding.
const basicLogin = /^Basic ((?:[\w+/-]{4})*(?:[\w+/-]{2}(?:==)?|[\w+/-]{3}=?)?) *$/

/**
 * Returns the user name and password of an Authorization header (RFC 7617, UTF-8); undefined if it contains none. The
 * scheme must be exactly `Basic` and one space, as in Druid 37. In a name or password that is not valid UTF-8, bytes
 * above 0x7f become unpaired surrogates, which no stored name or password contains. The length is not limited.
 */
export function readBasicHeader(header: string | undefined): { user: string; password: string } | undefined {
  const match = header !== undefined && basicLogin.exec(header)
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

/** Returns the Authorization header for a user and password. */
export function basicHeader(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`
}
