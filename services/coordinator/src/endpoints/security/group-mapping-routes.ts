import { isGroupPattern } from '@svc/domain/access'
import {
  checked,
  hasControlCharacter,
  omittable,
  readFields,
  readList,
  readText,
  titled,
} from '@svc/domain/validation'
import { emptyAnswer, jsonAnswer, jsonBody, type Route, route, securityConfig } from '@svc/shared/http'
import { addGroupMapping, assignRole, removeGroupMapping } from '@svc/shared/postgres'
import { namesShape } from '@svc/shared/shapes'
import * as z from 'zod'
import { type Authorizers, authorizerPath, entryOf, readAuthorizer } from './authorizers.ts'
import { expect, nameParameter } from './change-security.ts'
import { roleAssignmentRoutes } from './role-assignment-routes.ts'
import { fullRole, rolesShape, viewQuery } from './shown-roles.ts'

const groupPattern = checked(
  checked(readText, isGroupPattern, '[*], a distinguished name, [*,suffix], or [prefix,*]'),
  (pattern) => !hasControlCharacter(pattern),
  'a pattern without control characters',
)
const readMapping = titled(
  'GroupMapping',
  readFields({ name: omittable(readText), groupPattern, roles: omittable(readList(readText), []) }),
)

const mappingShape = z
  .object({ name: z.string(), groupPattern: z.string(), roles: rolesShape })
  .meta({ title: 'ShownGroupMapping' })

/** Returns the endpoints for the group mappings of an authorizer and their roles. */
export function groupMappingRoutes(authorizers: Authorizers): Route[] {
  return [
    route({
      method: 'GET',
      path: `${authorizerPath}/groupMappings`,
      access: securityConfig('READ'),
      summary: 'List the names of the group mappings',
      answers: [jsonAnswer(namesShape)],
      handle: async (input) => Object.keys((await authorizers.load(input)).groupMappings),
    }),
    route({
      method: 'GET',
      path: `${authorizerPath}/groupMappings/:mapping`,
      access: securityConfig('READ'),
      summary: 'Get a group mapping; `full` adds the permissions of its roles',
      query: viewQuery,
      answers: [jsonAnswer(mappingShape)],
      handle: async (input) => {
        const directory = await authorizers.load(input)
        const name = nameParameter(input.params, 'mapping')
        const { groupPattern, roles } = entryOf(directory.groupMappings, name, 'Group mapping')
        if (!input.query.full) return { name, groupPattern, roles }
        const shown = { full: true, simplifyPermissions: false }
        return { name, groupPattern, roles: roles.map((role) => fullRole(directory, role, shown)) }
      },
    }),
    createMappingRoute(authorizers),
    authorizers.changeRoute(
      'DELETE',
      '/groupMappings/:mapping',
      'Delete a group mapping',
      async (transaction, authorizer, { mapping = '' }) => {
        const removed = await removeGroupMapping(transaction, authorizer, mapping)
        expect(removed, `Group mapping [${mapping}] does not exist`)
      },
    ),
    ...roleAssignmentRoutes(authorizers, 'mapping'),
  ]
}

function createMappingRoute(authorizers: Authorizers): Route {
  return route({
    method: 'POST',
    path: `${authorizerPath}/groupMappings/:mapping`,
    access: securityConfig('WRITE'),
    summary: 'Create a group mapping',
    body: jsonBody(readMapping),
    answers: [emptyAnswer],
    failures: ['conflict'],
    handle: async (input) => {
      const authorizer = authorizers.nameOf(input)
      const mapping = nameParameter(input.params, 'mapping')
      const { name = mapping, groupPattern, roles } = input.body
      expect(
        name === mapping,
        `Invalid value [${name}] for [name]: expected [${mapping}], the name in the path`,
      )
      const key = `${authorizer}/groupMappings/${mapping}`
      await authorizers.change(input, key, input.body, async (transaction) => {
        const directory = await readAuthorizer(transaction, authorizer)
        for (const role of roles) entryOf(directory.roles, role, 'Role')
        const created = await addGroupMapping(transaction, authorizer, mapping, groupPattern)
        expect(created, `Group mapping [${mapping}] already exists`)
        for (const role of new Set(roles)) await assignRole(transaction, authorizer, 'mapping', mapping, role)
      })
    },
  })
}
