/** A permission as the API shows it. The name of the resource is a regular expression. */
export interface PermissionJson {
  readonly resource: { readonly type: string; readonly name: string }
  readonly action: 'READ' | 'WRITE'
}

/** Gives roles to the users of matching groups. */
export interface GroupMapping {
  readonly groupPattern: string
  readonly roles: readonly string[]
}

/** Users and roles, with the paths at which they are changed. */
export interface UsersAndRoles {
  /** Paths of the users who can log in, and of users and roles. Undefined if the cluster stores none. */
  readonly loginsPath: string | undefined
  readonly accountsPath: string
  /** Roles by user. */
  readonly users: Readonly<Record<string, readonly string[]>>
  readonly roles: Readonly<Record<string, readonly PermissionJson[]>>
  readonly mappings: Readonly<Record<string, GroupMapping>>
  /** The users who have a password in this cluster. */
  readonly logins: readonly string[]
  /** The ETag of users, roles, and group mappings. It changes with each of them. */
  readonly version: string | undefined
}
