import { jsonAnswer, type Route, route, securityConfig } from '@svc/shared/http'
import { addAuthorizationUser, removeAuthorizationUser } from '@svc/shared/postgres'
import { namesShape } from '@svc/shared/shapes'
import * as z from 'zod'
import { type Authorizers, authorizerPath, entryOf } from './authorizers.ts'
import { expect, nameParameter } from './change-security.ts'
import { roleAssignmentRoutes } from './role-assignment-routes.ts'
import { fullRole, rolesShape, viewQuery } from './shown-roles.ts'

const userShape = z.object({ name: z.string(), roles: rolesShape }).meta({ title: 'User' })

/** Returns the endpoints for the users of an authorizer and their roles. */
export function authorizerUserRoutes(authorizers: Authorizers): Route[] {
  return [
    route({
      method: 'GET',
      path: `${authorizerPath}/users`,
      access: securityConfig('READ'),
      summary: 'List the names of the users',
      answers: [jsonAnswer(namesShape)],
      handle: async (input) => Object.keys((await authorizers.load(input)).users),
    }),
    route({
      method: 'GET',
      path: `${authorizerPath}/users/:user`,
      access: securityConfig('READ'),
      summary: "Get a user and the user's roles; `full` adds the permissions of each role",
      query: viewQuery,
      answers: [jsonAnswer(userShape)],
      handle: async (input) => {
        const directory = await authorizers.load(input)
        const name = nameParameter(input.params, 'user')
        const roles = entryOf(directory.users, name, 'User')
        return {
          name,
          roles: input.query.full ? roles.map((role) => fullRole(directory, role, input.query)) : roles,
        }
      },
    }),
    authorizers.changeRoute(
      'POST',
      '/users/:user',
      'Create a user',
      async (transaction, authorizer, { user = '' }) => {
        expect(await addAuthorizationUser(transaction, authorizer, user), `User [${user}] already exists`)
      },
    ),
    authorizers.changeRoute(
      'DELETE',
      '/users/:user',
      'Delete a user',
      async (transaction, authorizer, { user = '' }) => {
        expect(await removeAuthorizationUser(transaction, authorizer, user), `User [${user}] does not exist`)
      },
    ),
    ...roleAssignmentRoutes(authorizers, 'user'),
  ]
}
