import { hasControlCharacter } from '../validation/index.ts'

/** Max length of a password, in characters. It keeps hashing cheap. */
export const maxPasswordLength = 1024

/** Whether a new password is allowed. `shortest` is the configured min length. */
export function isAllowedPassword(password: string, shortest: number): boolean {
  return password.length >= shortest && password.length <= maxPasswordLength && !hasControlCharacter(password)
}

/** Describes the allowed passwords, for error messages. */
export const allowedPasswords = (shortest: number): string =>
  `${shortest} to ${maxPasswordLength} characters without control characters`
