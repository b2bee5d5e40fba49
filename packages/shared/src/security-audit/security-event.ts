import { cutText, escapeControlCharacters } from '@svc/domain/validation'
import type { SecurityEventType } from '../postgres/index.ts'

/** An event for the audit log. Its strings may contain anything that a caller sent. */
export interface SecurityEvent {
  readonly type: SecurityEventType
  readonly key: string
  readonly identity: string
  readonly ip: string
  readonly details: Readonly<Record<string, unknown>>
}

/** The subject of an event. Events of a group share a budget; beyond it, they are only counted. */
export type EventGroup = Pick<SecurityEvent, 'type' | 'key' | 'identity'>

const maxTextLength = 256
const maxDetailLength = 1024

/** Returns the same key for equal events. */
export const eventKey = ({ type, key, identity, ip, details }: SecurityEvent): string =>
  JSON.stringify([type, key, identity, ip, details.reason])

/** Returns the event with its strings escaped and cut, so that the store accepts them and they mislead no reader. */
export function storable({ type, key, identity, ip, details }: SecurityEvent): SecurityEvent {
  const isEscaped = [key, identity].some((text) => escapeControlCharacters(text) !== text)
  return {
    type,
    key: storableText(key, maxTextLength),
    identity: storableText(identity, maxTextLength),
    ip: storableText(ip, maxTextLength),
    details: {
      ...Object.fromEntries(
        Object.entries(details).map(([name, value]) => [
          name,
          typeof value === 'string' ? storableText(value, maxDetailLength) : value,
        ]),
      ),
      // Distinguishes a control character in a name from the characters of its escape sequence.
      ...(isEscaped ? { escaped: true } : {}),
    },
  }
}

// Cut before escaping too: escaping megabytes would be wasted work.
const storableText = (text: string, maxLength: number): string =>
  cutText(escapeControlCharacters(text.slice(0, maxLength + 1)), maxLength)
