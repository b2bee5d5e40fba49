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

/** Permissions of one kind. */
interface Grant {
  readonly read: boolean
  readonly write: boolean
}

/** What a user may do. */
export interface CallerAnswer {
  readonly identity: string
  readonly state: Grant
  readonly config: Grant
  /** Permissions on users and roles. */
  readonly security: Grant
  readonly datasource: Grant | null
  /** Permissions on any datasources. */
  readonly anyDatasource: Grant
  /** Whether the cluster stores users and roles. */
  readonly storesRoles: boolean
  /** Whether faults can be injected. */
  readonly simulation: boolean
  /** Whether the clock of the cluster can be moved. */
  readonly simulatedClock: boolean
  /** Where the certificate authority is on the machine of the router; null if unknown. */
  readonly authorityFile: string | null
}
