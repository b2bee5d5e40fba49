import {
  type Access,
  compilePermissions,
  isAllowed,
  type Permission,
  permissionsOf,
  type ResourceType,
} from '@svc/domain/access'
import type { AuthorizerDirectory } from './directory.ts'
import { compileNamePattern } from './name-pattern.ts'

/** Whoever makes a request, and what that caller may do. */
export interface Caller {
  /** The proved user name, or the name of the authenticator that lets everyone in. */
  readonly identity: string
  /** The authenticator that proved it; empty for nobody. */
  readonly authenticator: string
  can(action: 'READ' | 'WRITE', type: ResourceType, name: string): boolean
}

/** The caller before any login: may do nothing that needs a permission. */
export const nobody: Caller = { identity: '', authenticator: '', can: () => false }

/** A caller who may do everything: the allowAll authorizer. */
export const unrestricted = (identity: string, authenticator: string): Caller => ({
  identity,
  authenticator,
  can: () => true,
})

/** A caller whose roles an authorizer's directory tells. */
export function permittedCaller(
  identity: string,
  authenticator: string,
  directory: AuthorizerDirectory,
): Caller {
  const permissions = compilePermissions(permissionsOf(directory, identity), compileNamePattern)
  return {
    identity,
    authenticator,
    can: (action, type, name) => isAllowed(permissions, { action, type, name }),
  }
}

/** Whether permissions grant an access. */
export function permits(permissions: readonly Permission[], access: Access): boolean {
  return isAllowed(compilePermissions(permissions, compileNamePattern), access)
}
