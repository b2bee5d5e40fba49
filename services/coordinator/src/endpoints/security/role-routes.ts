import { type AuthorizerRoles, parsePermissions, permissionsSchema } from '@svc/domain/access'
import { described, readLater } from '@svc/domain/validation'
import { emptyAnswer, jsonAnswer, jsonBody, type Route, route, securityConfig } from '@svc/shared/http'
import { addRole, removeRole, replacePermissions } from '@svc/shared/postgres'
import { countNamePatternSteps } from '@svc/shared/security'
import { namesShape } from '@svc/shared/shapes'
import { type Authorizers, authorizerPath, entryOf } from './authorizers.ts'
import { expect, nameParameter } from './change-security.ts'
import { permissionsShape, roleShape, showPermissions, type View, viewQuery } from './shown-roles.ts'

/** Returns the endpoints for the roles of an authorizer and their permissions. */
export const roleRoutes = (authorizers: Authorizers): Route[] => [
  ...roleReadRoutes(authorizers),
  authorizers.changeRoute(
    'POST',
    '/roles/:role',
    'Create a role',
    async (transaction, authorizer, { role = '' }) => {
      expect(await addRole(transaction, authorizer, role), `Role [${role}] already exists`)
    },
  ),
  authorizers.changeRoute(
    'DELETE',
    '/roles/:role',
    'Delete a role',
    async (transaction, authorizer, { role = '' }) => {
      expect(await removeRole(transaction, authorizer, role), `Role [${role}] does not exist`)
    },
  ),
  permissionsRoute(authorizers),
]

function roleReadRoutes(authorizers: Authorizers): Route[] {
  return [
    route({
      method: 'GET',
      path: `${authorizerPath}/roles`,
      access: securityConfig('READ'),
      summary: 'List the names of the roles',
      answers: [jsonAnswer(namesShape)],
      handle: async (input) => Object.keys((await authorizers.load(input)).roles),
    }),
    route({
      method: 'GET',
      path: `${authorizerPath}/roles/:role`,
      access: securityConfig('READ'),
      summary: 'Get a role with its permissions; `full` adds its users and group mappings',
      query: viewQuery,
      answers: [jsonAnswer(roleShape)],
      handle: async (input) =>
        showRole(await authorizers.load(input), nameParameter(input.params, 'role'), input.query),
    }),
    route({
      method: 'GET',
      path: `${authorizerPath}/roles/:role/permissions`,
      access: securityConfig('READ'),
      summary: 'Get the permissions of a role',
      query: viewQuery,
      answers: [jsonAnswer(permissionsShape)],
      handle: async (input) => {
        const { roles } = await authorizers.load(input)
        return showPermissions(entryOf(roles, nameParameter(input.params, 'role'), 'Role'), input.query)
      },
    }),
  ]
}

/** Returns a role in the format of Druid 37, which depends on the query parameters. */
function showRole(stored: AuthorizerRoles, name: string, view: View) {
  const { users: usersWithRoles, groupMappings } = stored
  const permissions = showPermissions(entryOf(stored.roles, name, 'Role'), view)
  const users = Object.keys(usersWithRoles).filter((user) => usersWithRoles[user]?.includes(name))
  if (view.simplifyPermissions) return { name, users: view.full ? users : null, permissions }
  if (!view.full) return { name, permissions }
  const groups = Object.keys(groupMappings).filter((mapping) => groupMappings[mapping]?.roles.includes(name))
  return { name, users, groups, permissions }
}

function permissionsRoute(authorizers: Authorizers): Route {
  return route({
    method: 'POST',
    path: `${authorizerPath}/roles/:role/permissions`,
    access: securityConfig('WRITE'),
    summary: 'Replace the permissions of a role',
    body: jsonBody(
      described(readLater(permissionsSchema), (json) => parsePermissions(json, countNamePatternSteps)),
    ),
    answers: [emptyAnswer],
    failures: ['conflict'],
    handle: async (input) => {
      const authorizer = authorizers.nameOf(input)
      const role = nameParameter(input.params, 'role')
      const key = `${authorizer}/roles/${role}/permissions`
      await authorizers.change(input, key, input.body, async (transaction) => {
        const stored = await replacePermissions(transaction, authorizer, role, input.body)
        expect(stored, `Role [${role}] does not exist`)
      })
    },
  })
}
