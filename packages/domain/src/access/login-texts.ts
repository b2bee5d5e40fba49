import { hasControlCharacter } from '../validation/index.ts'

/** Max length of a password, in characters. It keeps hashing cheap. */
export const maxPasswordLength = 1024

const isInvisible = /^[\p{White_Space}\p{Default_Ignorable_Code_Point}]*$/u

/**
 * Whether a new password is allowed: it must not consist only of spaces or other invisible characters. `shortest` is the configured
 * min length in code points.
 */
export function isAllowedPassword(password: string, shortest: number): boolean {
  return (
    [...password].length >= shortest &&
    password.length <= maxPasswordLength &&
    !hasControlCharacter(password) &&
    !isInvisible.test(password)
  )
}

/** Describes the allowed passwords, for error messages. */
export const allowedPasswords = (shortest: number): string =>
  `${shortest} to ${maxPasswordLength} characters without control characters, and not only spaces`
