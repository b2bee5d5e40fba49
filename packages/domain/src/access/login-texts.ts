import { hasControlCharacter } from '../validation/index.ts'

/** Longest name of a user, role or mapping: longer ones help nobody. */
export const longestName = 255

/** Longest password: hashing one stays cheap. */
export const longestPassword = 1024

/** Whether a text may be a new password, where `shortest` is the configured minimum length. */
export function isAllowedPassword(password: string, shortest: number): boolean {
  return password.length >= shortest && password.length <= longestPassword && !hasControlCharacter(password)
}

/** Which passwords are allowed, as a text for messages. */
export const allowedPasswords = (shortest: number): string =>
  `${shortest} to ${longestPassword} characters without control characters`
