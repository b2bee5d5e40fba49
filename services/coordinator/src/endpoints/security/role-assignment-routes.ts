import type { Route } from '@svc/shared/http'
import { assignRole, type RoleOwner, unassignRole } from '@svc/shared/postgres'
import { type Authorizers, entryOf, readAuthorizer } from './authorizers.ts'
import { expect } from './change-security.ts'

/** Users and group mappings both have roles. */
const owners = {
  user: {
    path: '/users/:user',
    what: 'User',
    label: 'user',
    entries: 'users',
  },
  mapping: {
    path: '/groupMappings/:mapping',
    what: 'Group mapping',
    label: 'group mapping',
    entries: 'groupMappings',
  },
} as const satisfies Record<RoleOwner, object>

/** Returns the endpoints that assign roles to users or group mappings, and remove them. */
export function roleAssignmentRoutes(authorizers: Authorizers, owner: RoleOwner): Route[] {
  const { path, what, label, entries } = owners[owner]
  const change = (
    method: 'POST' | 'DELETE',
    summary: string,
    apply: typeof assignRole,
    messageOf: (name: string, role: string) => string,
  ) =>
    authorizers.changeRoute(
      method,
      `${path}/roles/:role`,
      summary,
      async (transaction, authorizer, { [owner]: name = '', role = '' }) => {
        const stored = await readAuthorizer(transaction, authorizer)
        entryOf<unknown>(stored[entries], name, what)
        entryOf(stored.roles, role, 'Role')
        expect(await apply(transaction, authorizer, owner, name, role), messageOf(name, role))
      },
    )
  return [
    change(
      'POST',
      `Assign a role to a ${label}`,
      assignRole,
      (name, role) => `${what} [${name}] already has role [${role}]`,
    ),
    change(
      'DELETE',
      `Remove a role from a ${label}`,
      unassignRole,
      (name, role) => `${what} [${name}] does not have role [${role}]`,
    ),
  ]
}
