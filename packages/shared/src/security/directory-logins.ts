/** What a directory says of a login. */
export type DirectoryVerdict =
  | { readonly kind: 'known'; readonly identity: string; readonly groups: readonly string[] }
  | { readonly kind: 'wrong' | 'unknown' }
  | { readonly kind: 'unavailable'; readonly message: string }

/** Verifies logins against an LDAP directory, and remembers what it said for a time. */
export interface DirectoryLogins {
  /** What is remembered and still holds without asking; undefined where the directory has to be asked. */
  remembered(user: string, password: string): DirectoryVerdict | undefined
  /** Asks the directory; while it is away, what is remembered holds for longer. */
  verify(user: string, password: string): Promise<DirectoryVerdict>
}
