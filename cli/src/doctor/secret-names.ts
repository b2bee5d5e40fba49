const words = 'password|passphrase|passwd|pwd|secret|token'

/** Returns whether a property, parameter, or field with this name contains a password, or a key that works like one. */
export const isSecretName = (name: string): boolean =>
  new RegExp(`(?:${words}|secretkey|accesskey|basicauthentication|\\.key)$`, 'i').test(name)

/** Returns whether a variable may contain a password: their names follow no convention, so it matches too many rather than too few. */
export const isSecretVariable = (name: string): boolean =>
  new RegExp(`${words}|pass|key|credential`, 'i').test(name)
