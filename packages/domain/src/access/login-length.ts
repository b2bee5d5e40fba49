/** Longest name of a user, role or mapping: longer ones help nobody. */
export const longestName = 255

/** Longest password: hashing one stays cheap. */
export const longestPassword = 1024

/** Whether a new password is as long as it must be, where `shortest` is the configured least length. */
export function hasAllowedLength(password: string, shortest: number): boolean {
  return password.length >= shortest && password.length <= longestPassword
}

/** The lengths that are allowed, as a text. */
export const allowedPasswordLengths = (shortest: number): string =>
  `${shortest} to ${longestPassword} characters`
