import type { Permission } from '@svc/domain/access'
import type { Credentials } from './password-hash.ts'

/** Users with their credentials, and roles with their permissions, as all servers need them to decide. */
export interface SecurityDirectory {
  /** Grows with every change. */
  readonly version: number
  /** By authenticator, then by user; a user without a password yet has null. */
  readonly authenticators: Readonly<Record<string, Readonly<Record<string, Credentials | null>>>>
  readonly authorizers: Readonly<Record<string, AuthorizerDirectory>>
}

/** What one authorizer knows: roles by user, permissions by role. */
export interface AuthorizerDirectory {
  readonly users: Readonly<Record<string, readonly string[]>>
  readonly roles: Readonly<Record<string, readonly Permission[]>>
  readonly groupMappings: Readonly<Record<string, GroupMapping>>
}

/** Roles of the members of directory groups. */
export interface GroupMapping {
  readonly groupPattern: string
  readonly roles: readonly string[]
}

/** Where a server has its directory from: the metadata store at the coordinator, the coordinator elsewhere. */
export interface DirectorySource {
  /** The newest directory known, or why there is none yet. */
  current(): SecurityDirectory | { readonly missing: string }
}

/** Whether an authenticator or an authorizer has a user of this name, with a password or without. */
export function hasUser({ authenticators, authorizers }: SecurityDirectory, user: string): boolean {
  return (
    Object.values(authenticators).some((users) => Object.hasOwn(users, user)) ||
    Object.values(authorizers).some(({ users }) => Object.hasOwn(users, user))
  )
}

/** The credentials of a user, if it is known and has any. */
export function storedCredentials(
  { authenticators }: SecurityDirectory,
  authenticator: string,
  user: string,
): Credentials | undefined {
  const users = Object.hasOwn(authenticators, authenticator) ? authenticators[authenticator] : undefined
  return users && Object.hasOwn(users, user) ? (users[user] ?? undefined) : undefined
}
