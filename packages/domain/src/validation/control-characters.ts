// With the flag u, Cs matches only surrogates that are not part of a pair.
const controlCharacter = /[\p{Cc}\p{Cs}]/u
const controlCharacters = new RegExp(controlCharacter, 'gu')

/** Whether a string has a control character or an unpaired surrogate. Neither is allowed in names and passwords. */
export const hasControlCharacter = (text: string): boolean => controlCharacter.test(text)

/** Replaces every control character and every unpaired surrogate with an escape such as `\u0000`. */
export const escapeControlCharacters = (text: string): string =>
  text.replace(
    controlCharacters,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Returns at most the first `maxLength` UTF-16 code units, without splitting a surrogate pair. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const last = text.charCodeAt(maxLength - 1)
  const splitsPair = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, splitsPair ? maxLength - 1 : maxLength)
}
