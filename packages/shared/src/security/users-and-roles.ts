import type { HasPassword, Permission } from '@svc/domain/access'
import type { Credentials } from './password-hash.ts'

/** Users with their credentials, and roles with their permissions. */
export interface SecurityDirectory {
  /** Increases with every change. */
  readonly version: number
  /** By authenticator, then by user; null for a user without a password. */
  readonly authenticators: Readonly<Record<string, Readonly<Record<string, Credentials | null>>>>
  readonly authorizers: Readonly<Record<string, AuthorizerDirectory>>
}

/** The data of one authorizer: roles by user, permissions by role, and group mappings. */
export interface AuthorizerDirectory {
  readonly users: Readonly<Record<string, readonly string[]>>
  readonly roles: Readonly<Record<string, readonly Permission[]>>
  readonly groupMappings: Readonly<Record<string, GroupMapping>>
}

/** The roles that members of matching directory groups get. */
export interface GroupMapping {
  readonly groupPattern: string
  readonly roles: readonly string[]
}

/** The source of users and roles: the metadata store on a coordinator, the coordinator on other servers. */
export interface DirectorySource {
  /** Returns the latest known directory, or why there is none yet. */
  current(): SecurityDirectory | { readonly missing: string }
}

/** Returns whether an authenticator or authorizer has a user with this name, even without a password. */
export function hasUser({ authenticators, authorizers }: SecurityDirectory, user: string): boolean {
  return (
    Object.values(authenticators).some((users) => Object.hasOwn(users, user)) ||
    Object.values(authorizers).some(({ users }) => Object.hasOwn(users, user))
  )
}

/** Returns the credentials of a user; undefined if it is unknown or has none. */
export function storedCredentials(
  { authenticators }: SecurityDirectory,
  authenticator: string,
  user: string,
): Credentials | undefined {
  const users = Object.hasOwn(authenticators, authenticator) ? authenticators[authenticator] : undefined
  return users && Object.hasOwn(users, user) ? (users[user] ?? undefined) : undefined
}

/** Returns a test for whether an authenticator stores a password for a user. */
export const passwordTest =
  (directory: SecurityDirectory): HasPassword =>
  (authenticator, user) =>
    storedCredentials(directory, authenticator, user) !== undefined
