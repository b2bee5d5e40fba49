import type { Permission } from './permission.ts'

/** The names that one authorizer knows: roles by user, permissions by role. */
export interface RoleDirectory {
  readonly users: Readonly<Record<string, readonly string[]>>
  readonly roles: Readonly<Record<string, readonly Permission[]>>
}

/** The permissions of all roles of a user. */
export function permissionsOf({ users, roles }: RoleDirectory, user: string): readonly Permission[] {
  const assigned = Object.hasOwn(users, user) ? (users[user] ?? []) : []
  return assigned.flatMap((role) => (Object.hasOwn(roles, role) ? (roles[role] ?? []) : []))
}

/**
 * The users who can change users and roles: those who may write the security configuration and can log in.
 * `mayWriteSecurity` decides by permissions, `canLogIn` by whether the user has a password.
 */
export function administratorsOf(
  directory: RoleDirectory,
  canLogIn: (user: string) => boolean,
  mayWriteSecurity: (permissions: readonly Permission[]) => boolean,
): string[] {
  return Object.keys(directory.users).filter(
    (user) => canLogIn(user) && mayWriteSecurity(permissionsOf(directory, user)),
  )
}
