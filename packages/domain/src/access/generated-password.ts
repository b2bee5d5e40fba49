// 150 random bits: nobody can guess such a password, however little work its hash takes.
const randomLength = 25
const checksumLength = 7

/**
 * Returns a generated password of 32 characters, from at least 25 random base64url characters. It ends with a checksum, by
 * which servers recognize it.
 */
export function generatedPassword(random: string): string {
  if (random.length < randomLength) throw new Error(`Expected [${randomLength}] random characters`)
  const kept = random.slice(0, randomLength)
  return kept + checksumOf(kept)
}

/** Returns whether a password was generated. Of all others, one in four billion looks the same. */
export function isGeneratedPassword(password: string): boolean {
  return (
    password.length === randomLength + checksumLength &&
    /^[\w-]+$/.test(password) &&
    password.slice(randomLength) === checksumOf(password.slice(0, randomLength))
  )
}

/** FNV-1a with 32 bits, as text. */
function checksumOf(text: string): string {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return (hash >>> 0).toString(36).padStart(checksumLength, '0')
}
