import type { Route } from '@svc/shared/http'
import { assignMappingRole, assignRole, unassignMappingRole, unassignRole } from '@svc/shared/postgres'
import { type Authorizers, entryOf, readAuthorizer } from './authorizers.ts'
import { expect } from './change.ts'

/** Users and group mappings both have roles. */
const owners = {
  user: {
    path: '/users/:user',
    what: 'User',
    label: 'user',
    entries: 'users',
    assign: assignRole,
    unassign: unassignRole,
  },
  mapping: {
    path: '/groupMappings/:mapping',
    what: 'Group mapping',
    label: 'group mapping',
    entries: 'groupMappings',
    assign: assignMappingRole,
    unassign: unassignMappingRole,
  },
} as const

/** Returns the endpoints that assign roles to users or group mappings, and remove them. */
export function roleAssignmentRoutes(authorizers: Authorizers, owner: keyof typeof owners): Route[] {
  const { path, what, label, entries, assign, unassign } = owners[owner]
  const change = (
    method: 'POST' | 'DELETE',
    summary: string,
    apply: typeof assign,
    messageOf: (name: string, role: string) => string,
  ) =>
    authorizers.changeRoute(
      method,
      `${path}/roles/:role`,
      summary,
      async (transaction, authorizer, { [owner]: name = '', role = '' }) => {
        const directory = await readAuthorizer(transaction, authorizer)
        entryOf<unknown>(directory[entries], name, what)
        entryOf(directory.roles, role, 'Role')
        expect(await apply(transaction, authorizer, name, role), messageOf(name, role))
      },
    )
  return [
    change(
      'POST',
      `Assign a role to a ${label}`,
      assign,
      (name, role) => `${what} [${name}] already has role [${role}]`,
    ),
    change(
      'DELETE',
      `Remove a role from a ${label}`,
      unassign,
      (name, role) => `${what} [${name}] does not have role [${role}]`,
    ),
  ]
}
