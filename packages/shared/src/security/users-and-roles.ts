import type { AuthorizerRoles, HasPassword } from '@svc/domain/access'
import type { Credentials } from './password-hash.ts'

/** Users with their credentials, and roles with their permissions. */
export interface UsersAndRoles {
  /** Increases with every change. */
  readonly version: number
  /** By authenticator, then by user; null for a user without a password. */
  readonly authenticators: Readonly<Record<string, Readonly<Record<string, Credentials | null>>>>
  readonly authorizers: Readonly<Record<string, AuthorizerRoles>>
}

/** The source of users and roles: the metadata store on a coordinator, the coordinator on other servers. */
export interface UsersSource {
  /** Returns the latest known users and roles, or why there are none yet. */
  current(): UsersAndRoles | { readonly missing: string }
}

/** Returns whether an authenticator or authorizer has a user with this name, even without a password. */
export function hasUser({ authenticators, authorizers }: UsersAndRoles, user: string): boolean {
  return (
    Object.values(authenticators).some((users) => Object.hasOwn(users, user)) ||
    Object.values(authorizers).some(({ users }) => Object.hasOwn(users, user))
  )
}

/** Returns the credentials of a user; undefined if it is unknown or has none. */
export function storedCredentials(
  { authenticators }: UsersAndRoles,
  authenticator: string,
  user: string,
): Credentials | undefined {
  const users = Object.hasOwn(authenticators, authenticator) ? authenticators[authenticator] : undefined
  return users && Object.hasOwn(users, user) ? (users[user] ?? undefined) : undefined
}

/** Returns a test for whether an authenticator stores a password for a user. */
export const passwordTest =
  (stored: UsersAndRoles): HasPassword =>
  (authenticator, user) =>
    storedCredentials(stored, authenticator, user) !== undefined
