import { hashText } from '../inventory/index.ts'

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

/** 32 bits of a hash, as text. */
const checksumOf = (text: string): string => (hashText(text) >>> 0).toString(36).padStart(checksumLength, '0')
