import type { ServerResponse } from 'node:http'
import { allowedPasswords, isAllowedPassword } from '@svc/domain/access'
import { described, type Reader, readFields, refuseSecret, titled } from '@svc/domain/validation'
import {
  emptyAnswer,
  entityTag,
  jsonAnswer,
  jsonBody,
  type Route,
  route,
  securityConfig,
} from '@svc/shared/http'
import {
  addAuthenticationUser,
  loadUsersAndRoles,
  removeAuthenticationUser,
  replaceCredentials,
} from '@svc/shared/postgres'
import { type Credentials, hashPassword } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { namesShape } from '@svc/shared/shapes'
import * as z from 'zod'
import { type ChangeSecurity, expect, nameParameter } from './change-security.ts'
import { isLoginName } from './has-administrator.ts'
import { refreshRoute } from './refresh-route.ts'

const authenticatorPath = '/svc-ext/basic-security/authentication/db/:authenticator'
const usersPath = `${authenticatorPath}/users`

/** Returns a reader of new passwords of at least `minLength` characters. Errors do not repeat the value, which is a secret. */
function credentialsReader(minLength: number): Reader<{ readonly password: string }> {
  const allowed = allowedPasswords(minLength)
  const password = described({ type: 'string' }, (json, field) => {
    if (typeof json !== 'string') throw refuseSecret(field, `a string of ${allowed}`)
    if (!isAllowedPassword(json, minLength)) throw refuseSecret(field, allowed)
    return json
  })
  return titled('Credentials', readFields({ password }, { isSecret: true }))
}

/** The stored users of authenticators. */
interface StoredUsers {
  /** Returns the authenticator in the path. Throws invalidInput if it does not exist. */
  authenticatorOf(input: { readonly params: Readonly<Record<string, string>> }): string
  /** Returns the users of an authenticator. Adds their version to the headers of the response, if one is given. */
  loadUsers(
    authenticator: string,
    response?: ServerResponse,
  ): Promise<Readonly<Record<string, Credentials | null>>>
}

/** Returns the endpoints for users who can log in. */
export function loginUserRoutes(
  context: Pick<ServiceContext, 'settings' | 'database' | 'users'>,
  change: ChangeSecurity,
): Route[] {
  const { settings, database } = context
  const known = settings
    .get('svc.auth.authenticatorChain')
    .filter((name) => settings.getNamed('svc.auth.authenticator.<name>.type', name) === 'basic')
  const stored: StoredUsers = {
    authenticatorOf: ({ params }) => {
      const name = params.authenticator as string
      expect(
        known.includes(name),
        `Authenticator [${name}] does not exist: expected one of [${known.join(', ')}]`,
      )
      return name
    },
    loadUsers: async (authenticator, response) => {
      const { version, authenticators } = await loadUsersAndRoles(database)
      response?.setHeader('ETag', entityTag(version).ETag)
      return authenticators[authenticator] ?? {}
    },
  }
  return [
    ...readUserRoutes(stored),
    createUserRoute(stored, change),
    deleteUserRoute(stored, change),
    passwordRoute(stored, change, settings.get('svc.auth.credentials.minLength')),
    cachedUsersRoute(stored),
    refreshRoute('authentication', context),
  ]
}

function readUserRoutes(stored: StoredUsers): Route[] {
  return [
    route({
      method: 'GET',
      path: usersPath,
      access: securityConfig('READ'),
      summary: 'List the names of the users of an authenticator',
      answers: [jsonAnswer(namesShape)],
      handle: async (input) => Object.keys(await stored.loadUsers(stored.authenticatorOf(input))),
    }),
    route({
      method: 'GET',
      path: `${usersPath}/:user`,
      access: securityConfig('READ'),
      summary: 'Get a user and whether the user has a password; the salt and hash are never shown',
      answers: [
        jsonAnswer(
          z.object({ name: z.string(), credentials: z.object({ algorithm: z.string() }).nullable() }),
        ),
      ],
      handle: async (input) => {
        const users = await stored.loadUsers(stored.authenticatorOf(input), input.response)
        const name = nameParameter(input.params, 'user')
        expect(Object.hasOwn(users, name), `User [${name}] does not exist`)
        const credentials = users[name]
        return { name, credentials: credentials ? { algorithm: credentials.algorithm } : null }
      },
    }),
  ]
}

function createUserRoute(stored: StoredUsers, change: ChangeSecurity): Route {
  return route({
    method: 'POST',
    path: `${usersPath}/:user`,
    access: securityConfig('WRITE'),
    summary: 'Create a user; the user cannot log in until a password is set',
    answers: [emptyAnswer],
    failures: ['conflict'],
    handle: async (input) => {
      const authenticator = stored.authenticatorOf(input)
      const user = nameParameter(input.params, 'user')
      expect(
        isLoginName(user),
        `Invalid value [${user}] for [user]: expected a name without a colon, because basic authentication uses a colon to separate the name from the password`,
      )
      await change(input, `${authenticator}/users/${user}`, { created: user }, async (transaction) => {
        expect(await addAuthenticationUser(transaction, authenticator, user), `User [${user}] already exists`)
      })
    },
  })
}

function deleteUserRoute(stored: StoredUsers, change: ChangeSecurity): Route {
  return route({
    method: 'DELETE',
    path: `${usersPath}/:user`,
    access: securityConfig('WRITE'),
    summary: 'Delete a user of an authenticator',
    answers: [emptyAnswer],
    failures: ['conflict'],
    handle: async (input) => {
      const authenticator = stored.authenticatorOf(input)
      const user = nameParameter(input.params, 'user')
      await change(input, `${authenticator}/users/${user}`, { deleted: user }, async (transaction) => {
        expect(
          await removeAuthenticationUser(transaction, authenticator, user),
          `User [${user}] does not exist`,
        )
      })
    },
  })
}

function passwordRoute(stored: StoredUsers, change: ChangeSecurity, minLength: number): Route {
  return route({
    method: 'POST',
    path: `${usersPath}/:user/credentials`,
    access: securityConfig('WRITE'),
    summary: 'Set the password of a user',
    body: jsonBody(credentialsReader(minLength)),
    answers: [emptyAnswer],
    failures: ['conflict'],
    handle: async (input) => {
      const authenticator = stored.authenticatorOf(input)
      const user = nameParameter(input.params, 'user')
      const users = await stored.loadUsers(authenticator)
      expect(Object.hasOwn(users, user), `User [${user}] does not exist`)
      const credentials = await hashPassword(input.body.password)
      await change(input, `${authenticator}/users/${user}`, { passwordSet: user }, async (transaction) => {
        expect(
          await replaceCredentials(transaction, authenticator, user, credentials),
          `User [${user}] does not exist`,
        )
      })
    },
  })
}

function cachedUsersRoute(stored: StoredUsers): Route {
  return route({
    method: 'GET',
    path: `${authenticatorPath}/cachedSerializedUserMap`,
    access: securityConfig('READ'),
    summary: 'Get the users in the form that servers cache, without their credentials',
    answers: [jsonAnswer(z.record(z.string(), z.object({ name: z.string() })))],
    handle: async (input) => {
      const users = await stored.loadUsers(stored.authenticatorOf(input))
      return Object.fromEntries(Object.keys(users).map((name) => [name, { name }]))
    },
  })
}
