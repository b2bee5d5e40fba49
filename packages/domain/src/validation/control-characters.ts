// With the flag u, Cs matches only surrogates that are not part of a pair.
const controlCharacter = /[\p{Cc}\p{Cs}]/u
const controlCharacters = new RegExp(controlCharacter, 'gu')

/** Whether a string has a control character or an unpaired surrogate. Neither is allowed in names and passwords. */
export const hasControlCharacter = (text: string): boolean => controlCharacter.test(text)

const escapeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Replaces every control character and every unpaired surrogate with an escape such as `\u0000`. */
export const escapeControlCharacters = (text: string): string => text.replace(controlCharacters, escapeOf)

/** A mark that changes the direction of the text around it. */
export const bidirectionalMark = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
const bidirectionalMarks = new RegExp(bidirectionalMark, 'gu')

/**
 * Like `escapeControlCharacters`, but also replaces the marks that change the direction of text, which names may have: with
 * them, a text that people review may look like a different one.
 */
export const escapeInvisible = (text: string): string =>
  escapeControlCharacters(text).replace(bidirectionalMarks, escapeOf)

/** Returns at most the first `maxLength` UTF-16 code units, without splitting a surrogate pair. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const last = text.charCodeAt(maxLength - 1)
  const splitsPair = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, splitsPair ? maxLength - 1 : maxLength)
}
