import {
  isGroupPattern,
  type Permission,
  parsePermissions,
  permissionSchema,
  permissionsSchema,
  shownPermissionSchema,
} from '@svc/domain/access'
import { hasControlCharacter } from '@svc/domain/validation'
import {
  emptyAnswer,
  jsonAnswer,
  jsonBody,
  type Route,
  type RouteInput,
  route,
  securityConfig,
} from '@svc/shared/http'
import {
  addAuthorizationUser,
  addGroupMapping,
  addRole,
  assignMappingRole,
  assignRole,
  loadSecurityDirectory,
  readSecurityDirectory,
  removeAuthorizationUser,
  removeGroupMapping,
  removeRole,
  replacePermissions,
  type Transaction,
  unassignMappingRole,
  unassignRole,
} from '@svc/shared/postgres'
import { type AuthorizerDirectory, isNamePattern } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { namesShape } from '@svc/shared/shapes'
import { listOf, parserOf, presence, shapedParser, shapeOf } from '@svc/shared/wire'
import { z } from 'zod'
import { type ChangeSecurity, emptyAuthorizer, expect, nameParameter } from './change.ts'

const base = '/svc-ext/basic-security/authorization'
const store = `${base}/db/:authorizer`

const viewQuery = z.object({ full: presence, simplifyPermissions: presence })
type View = z.infer<typeof viewQuery>

const mappingSchema = z.strictObject({
  name: z.string().optional(),
  groupPattern: z
    .string({ error: 'a string' })
    .refine(isGroupPattern, { error: '[*], a distinguished name, [*,suffix], or [prefix,*]' })
    .refine((pattern) => !hasControlCharacter(pattern), { error: 'a pattern without control characters' }),
  roles: listOf(z.string()).default([]),
})

const parseMapping = parserOf(mappingSchema.meta({ title: 'GroupMapping' }), { subject: 'group mapping' })

const permissionsShape = z.array(z.union([shapeOf(shownPermissionSchema()), shapeOf(permissionSchema())]))
const roleShape = z
  .object({
    name: z.string(),
    users: namesShape.nullish(),
    groups: namesShape.optional(),
    permissions: permissionsShape,
  })
  .meta({ title: 'Role', description: 'Users and group mappings are included only on request' })
const rolesShape = z.union([namesShape, z.array(roleShape)])
const userShape = z.object({ name: z.string(), roles: rolesShape }).meta({ title: 'User' })
const mappingShape = z
  .object({ name: z.string(), groupPattern: z.string(), roles: rolesShape })
  .meta({ title: 'ShownGroupMapping' })
const roleMapShape = z.record(z.string(), z.array(shapeOf(permissionSchema())))

type Input = Pick<RouteInput<unknown, unknown>, 'params'>

/** Returns the endpoints for the users, roles, permissions, and group mappings of authorizers. */
export function authorizationRoutes(context: ServiceContext, change: ChangeSecurity): Route[] {
  const { settings, database } = context
  const known = settings
    .get('svc.auth.authorizers')
    .filter((name) => settings.getNamed('svc.auth.authorizer.<name>.type', name) === 'basic')

  const authorizerOf = ({ params }: Input): string => {
    const name = params.authorizer as string
    expect(known.includes(name), `Authorizer [${name}] does not exist: expected one of [${known.join(', ')}]`)
    return name
  }
  const load = async (input: Input): Promise<AuthorizerDirectory> => {
    const authorizer = authorizerOf(input)
    return (await loadSecurityDirectory(database)).authorizers[authorizer] ?? emptyAuthorizer
  }
  const read = async (transaction: Transaction, authorizer: string): Promise<AuthorizerDirectory> =>
    (await readSecurityDirectory(transaction)).authorizers[authorizer] ?? emptyAuthorizer

  /** Returns a route that changes one user, role, or group mapping of an authorizer. */
  const changing = (
    method: 'POST' | 'DELETE',
    path: string,
    summary: string,
    apply: (
      transaction: Transaction,
      authorizer: string,
      names: Readonly<Record<string, string>>,
    ) => Promise<void>,
  ): Route =>
    route({
      method,
      path: `${store}${path}`,
      access: securityConfig('WRITE'),
      summary,
      answers: [emptyAnswer],
      failures: ['conflict'],
      handle: async (input) => {
        const authorizer = authorizerOf(input)
        const parameters = Object.keys(input.params).filter((parameter) => parameter !== 'authorizer')
        const names = Object.fromEntries(parameters.map((name) => [name, nameParameter(input.params, name)]))
        const key = `${authorizer}${path.replace(/:(\w+)/g, (_, parameter: string) => names[parameter] as string)}`
        await change(input, key, { method, ...names }, (transaction) => apply(transaction, authorizer, names))
      },
    })

  return [
    route({
      method: 'GET',
      path: `${store}/users`,
      access: securityConfig('READ'),
      summary: 'List the names of the users',
      answers: [jsonAnswer(namesShape)],
      handle: async (input) => Object.keys((await load(input)).users),
    }),
    route({
      method: 'GET',
      path: `${store}/users/:user`,
      access: securityConfig('READ'),
      summary: 'Get a user with its roles; full adds their permissions',
      query: viewQuery,
      answers: [jsonAnswer(userShape)],
      handle: async (input) => {
        const directory = await load(input)
        const name = nameParameter(input.params, 'user')
        const roles = entryOf(directory.users, name, 'User')
        return {
          name,
          roles: input.query.full ? roles.map((role) => fullRole(directory, role, input.query)) : roles,
        }
      },
    }),
    changing('POST', '/users/:user', 'Create a user', async (transaction, authorizer, { user = '' }) => {
      expect(await addAuthorizationUser(transaction, authorizer, user), `User [${user}] already exists`)
    }),
    changing('DELETE', '/users/:user', 'Delete a user', async (transaction, authorizer, { user = '' }) => {
      expect(await removeAuthorizationUser(transaction, authorizer, user), `User [${user}] does not exist`)
    }),
    changing(
      'POST',
      '/users/:user/roles/:role',
      'Assign a role to a user',
      async (transaction, authorizer, { user = '', role = '' }) => {
        const directory = await read(transaction, authorizer)
        entryOf(directory.users, user, 'User')
        entryOf(directory.roles, role, 'Role')
        expect(
          await assignRole(transaction, authorizer, user, role),
          `User [${user}] already has role [${role}]`,
        )
      },
    ),
    changing(
      'DELETE',
      '/users/:user/roles/:role',
      'Remove a role from a user',
      async (transaction, authorizer, { user = '', role = '' }) => {
        const directory = await read(transaction, authorizer)
        entryOf(directory.users, user, 'User')
        entryOf(directory.roles, role, 'Role')
        expect(
          await unassignRole(transaction, authorizer, user, role),
          `User [${user}] does not have role [${role}]`,
        )
      },
    ),
    route({
      method: 'GET',
      path: `${store}/roles`,
      access: securityConfig('READ'),
      summary: 'List the names of the roles',
      answers: [jsonAnswer(namesShape)],
      handle: async (input) => Object.keys((await load(input)).roles),
    }),
    route({
      method: 'GET',
      path: `${store}/roles/:role`,
      access: securityConfig('READ'),
      summary: 'Get a role with its permissions; full adds its users and group mappings',
      query: viewQuery,
      answers: [jsonAnswer(roleShape)],
      handle: async (input) => {
        const directory = await load(input)
        const name = nameParameter(input.params, 'role')
        const permissions = showPermissions(entryOf(directory.roles, name, 'Role'), input.query)
        const { full, simplifyPermissions } = input.query
        const users = namesWith(directory.users, name)
        if (simplifyPermissions) return { name, users: full ? users : null, permissions }
        if (!full) return { name, permissions }
        const groups = Object.keys(directory.groupMappings).filter((mapping) =>
          directory.groupMappings[mapping]?.roles.includes(name),
        )
        return { name, users, groups, permissions }
      },
    }),
    route({
      method: 'GET',
      path: `${store}/roles/:role/permissions`,
      access: securityConfig('READ'),
      summary: 'Get the permissions of a role',
      query: viewQuery,
      answers: [jsonAnswer(permissionsShape)],
      handle: async (input) => {
        const { roles } = await load(input)
        return showPermissions(entryOf(roles, nameParameter(input.params, 'role'), 'Role'), input.query)
      },
    }),
    changing('POST', '/roles/:role', 'Create a role', async (transaction, authorizer, { role = '' }) => {
      expect(await addRole(transaction, authorizer, role), `Role [${role}] already exists`)
    }),
    changing('DELETE', '/roles/:role', 'Delete a role', async (transaction, authorizer, { role = '' }) => {
      expect(await removeRole(transaction, authorizer, role), `Role [${role}] does not exist`)
    }),
    route({
      method: 'POST',
      path: `${store}/roles/:role/permissions`,
      access: securityConfig('WRITE'),
      summary: 'Replace the permissions of a role',
      body: jsonBody(
        shapedParser(shapeOf(permissionsSchema()), (json) => parsePermissions(json, isNamePattern)),
      ),
      answers: [emptyAnswer],
      failures: ['conflict'],
      handle: async (input) => {
        const authorizer = authorizerOf(input)
        const role = nameParameter(input.params, 'role')
        await change(input, `${authorizer}/roles/${role}/permissions`, input.body, async (transaction) => {
          const stored = await replacePermissions(transaction, authorizer, role, input.body)
          expect(stored, `Role [${role}] does not exist`)
        })
      },
    }),
    route({
      method: 'GET',
      path: `${store}/groupMappings`,
      access: securityConfig('READ'),
      summary: 'List the names of the group mappings',
      answers: [jsonAnswer(namesShape)],
      handle: async (input) => Object.keys((await load(input)).groupMappings),
    }),
    route({
      method: 'GET',
      path: `${store}/groupMappings/:mapping`,
      access: securityConfig('READ'),
      summary: 'Get a group mapping; full adds the permissions of its roles',
      query: viewQuery,
      answers: [jsonAnswer(mappingShape)],
      handle: async (input) => {
        const directory = await load(input)
        const name = nameParameter(input.params, 'mapping')
        const { groupPattern, roles } = entryOf(directory.groupMappings, name, 'Group mapping')
        if (!input.query.full) return { name, groupPattern, roles }
        const shown = { full: true, simplifyPermissions: false }
        return { name, groupPattern, roles: roles.map((role) => fullRole(directory, role, shown)) }
      },
    }),
    route({
      method: 'POST',
      path: `${store}/groupMappings/:mapping`,
      access: securityConfig('WRITE'),
      summary: 'Create a group mapping',
      body: jsonBody(parseMapping),
      answers: [emptyAnswer],
      failures: ['conflict'],
      handle: async (input) => {
        const authorizer = authorizerOf(input)
        const mapping = nameParameter(input.params, 'mapping')
        const { name = mapping, groupPattern, roles } = input.body
        expect(
          name === mapping,
          `Invalid value [${name}] for [name]: expected [${mapping}], the name in the path`,
        )
        await change(input, `${authorizer}/groupMappings/${mapping}`, input.body, async (transaction) => {
          const directory = await read(transaction, authorizer)
          for (const role of roles) entryOf(directory.roles, role, 'Role')
          const created = await addGroupMapping(transaction, authorizer, mapping, groupPattern)
          expect(created, `Group mapping [${mapping}] already exists`)
          for (const role of new Set(roles)) await assignMappingRole(transaction, authorizer, mapping, role)
        })
      },
    }),
    changing(
      'DELETE',
      '/groupMappings/:mapping',
      'Delete a group mapping',
      async (transaction, authorizer, { mapping = '' }) => {
        const removed = await removeGroupMapping(transaction, authorizer, mapping)
        expect(removed, `Group mapping [${mapping}] does not exist`)
      },
    ),
    changing(
      'POST',
      '/groupMappings/:mapping/roles/:role',
      'Assign a role to a group mapping',
      async (transaction, authorizer, { mapping = '', role = '' }) => {
        const directory = await read(transaction, authorizer)
        entryOf(directory.groupMappings, mapping, 'Group mapping')
        entryOf(directory.roles, role, 'Role')
        const assigned = await assignMappingRole(transaction, authorizer, mapping, role)
        expect(assigned, `Group mapping [${mapping}] already has role [${role}]`)
      },
    ),
    changing(
      'DELETE',
      '/groupMappings/:mapping/roles/:role',
      'Remove a role from a group mapping',
      async (transaction, authorizer, { mapping = '', role = '' }) => {
        const directory = await read(transaction, authorizer)
        entryOf(directory.groupMappings, mapping, 'Group mapping')
        entryOf(directory.roles, role, 'Role')
        const removed = await unassignMappingRole(transaction, authorizer, mapping, role)
        expect(removed, `Group mapping [${mapping}] does not have role [${role}]`)
      },
    ),
    route({
      method: 'GET',
      path: `${store}/cachedSerializedUserMap`,
      access: securityConfig('READ'),
      summary: 'Get users and roles as servers cache them',
      answers: [jsonAnswer(z.object({ userMap: z.record(z.string(), namesShape), roleMap: roleMapShape }))],
      handle: async (input) => {
        const { users, roles } = await load(input)
        return { userMap: users, roleMap: roles }
      },
    }),
    route({
      method: 'GET',
      path: `${store}/cachedSerializedGroupMappingMap`,
      access: securityConfig('READ'),
      summary: 'Get group mappings and roles as servers cache them',
      answers: [
        jsonAnswer(
          z.object({
            groupMappingMap: z.record(z.string(), z.object({ groupPattern: z.string(), roles: namesShape })),
            roleMap: roleMapShape,
          }),
        ),
      ],
      handle: async (input) => {
        const { groupMappings, roles } = await load(input)
        return { groupMappingMap: groupMappings, roleMap: roles }
      },
    }),
    route({
      method: 'GET',
      path: `${base}/refreshAll`,
      access: securityConfig('READ'),
      summary:
        'Refresh users and roles; never needed, because every change reaches all servers automatically',
      answers: [emptyAnswer],
      handle: () => context.directory().refresh(),
    }),
  ]
}

function entryOf<Value>(entries: Readonly<Record<string, Value>>, name: string, what: string): Value {
  expect(Object.hasOwn(entries, name), `${what} [${name}] does not exist`)
  return entries[name] as Value
}

const namesWith = (users: AuthorizerDirectory['users'], role: string): string[] =>
  Object.keys(users).filter((user) => users[user]?.includes(role))

/** Returns permissions in the format of Druid 37: wrapped, or plain if they are simplified. */
function showPermissions(permissions: readonly Permission[], { simplifyPermissions }: View): unknown[] {
  if (simplifyPermissions) return [...permissions]
  return permissions.map((permission) => ({
    resourceAction: permission,
    resourceNamePattern: permission.resource.name,
  }))
}

function fullRole(directory: AuthorizerDirectory, name: string, view: View) {
  const permissions = showPermissions(directory.roles[name] ?? [], view)
  return view.simplifyPermissions ? { name, users: null, permissions } : { name, permissions }
}
