/** A request to an LDAP directory, and its result. It never contains a password. */
export interface DirectoryStep {
  /** `checkPassword` binds as the user who logs in. */
  readonly action: 'bind' | 'searchUser' | 'searchGroups' | 'checkPassword'
  readonly url: string
  /** The user who binds; empty for an anonymous search. */
  readonly bindUser: string
  readonly baseDn?: string
  /** As sent. */
  readonly filter?: string
  /** The names of the entries that were found. */
  readonly found?: readonly string[]
  /** Values of memberOf in the entry of the user. */
  readonly memberOf?: readonly string[]
  readonly error?: string
  /** The directory has not responded yet. */
  readonly isPending?: true
  /** The request belongs to another login. Because it failed or is pending, the directory was not queried again. */
  readonly isEarlier?: true
}

/** A request to the directory of an authenticator. */
export type AuthenticatorStep = DirectoryStep & { readonly authenticator: string }

/** Returns a request to a directory and its result as text, such as `Bind to ldap://x as [cn=search]: accepted`. */
export function directoryStepText(step: DirectoryStep): string {
  const { action, found = [], memberOf = [], error, isPending = false, isEarlier = false } = step
  const sent = requestText(step)
  const request = isEarlier ? `Earlier request: ${sent}` : sent
  if (error !== undefined) return `${request}: failed: ${error}`
  if (isPending) return `${request}: no response yet`
  if (action === 'bind' || action === 'checkPassword') return `${request}: accepted`
  const entries = found.length === 0 ? 'no entries' : found.map((name) => `[${name}]`).join(', ')
  const groups = memberOf.length === 0 ? '' : `, member of ${memberOf.map((name) => `[${name}]`).join(', ')}`
  return `${request}: found ${entries}${groups}`
}

/** Returns the request without its result. */
function requestText({ action, url, bindUser, baseDn, filter }: DirectoryStep): string {
  switch (action) {
    case 'bind':
      return `Bind to ${url} as [${bindUser}]`
    case 'checkPassword':
      return `Check the password: bind to ${url} as [${bindUser}]`
    case 'searchUser':
      return `Search for the user in [${baseDn}] with ${filter}`
    case 'searchGroups':
      return `Search for groups in [${baseDn}] with ${filter}`
  }
}
