import { allowedPasswords, isAllowedPassword } from '@svc/domain/access'
import { emptyAnswer, jsonAnswer, jsonBody, type Route, route, securityConfig } from '@svc/shared/http'
import {
  addAuthenticationUser,
  loadSecurityDirectory,
  removeAuthenticationUser,
  replaceCredentials,
} from '@svc/shared/postgres'
import { type Credentials, hashPassword } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { namesShape } from '@svc/shared/shapes'
import { type Parser, parserOf } from '@svc/shared/wire'
import { z } from 'zod'
import { type ChangeSecurity, expect, nameParameter } from './change.ts'
import { isLoginName } from './has-administrator.ts'

const base = '/svc-ext/basic-security/authentication'
const usersPath = `${base}/db/:authenticator/users`

/** Returns a parser for new passwords of at least `shortest` characters. Errors do not repeat the value, which is a secret. */
function credentialsParser(shortest: number): Parser<{ readonly password: string }> {
  const allowed = allowedPasswords(shortest)
  const schema = z.strictObject({
    password: z
      .string({ error: `a string of ${allowed}` })
      .refine((password) => isAllowedPassword(password, shortest), { error: allowed }),
  })
  return parserOf(schema.meta({ title: 'Credentials' }), { subject: 'credentials', hideValues: true })
}

/** Returns the endpoints for users who can log in. */
export function authenticationRoutes(context: ServiceContext, change: ChangeSecurity): Route[] {
  const { settings, database } = context
  const known = settings
    .get('svc.auth.authenticatorChain')
    .filter((name) => settings.getNamed('svc.auth.authenticator.<name>.type', name) === 'basic')

  const authenticatorOf = ({ params }: { params: Readonly<Record<string, string>> }): string => {
    const name = params.authenticator as string
    expect(
      known.includes(name),
      `Authenticator [${name}] does not exist: expected one of [${known.join(', ')}]`,
    )
    return name
  }
  const loadUsers = async (authenticator: string): Promise<Readonly<Record<string, Credentials | null>>> =>
    (await loadSecurityDirectory(database)).authenticators[authenticator] ?? {}

  return [
    route({
      method: 'GET',
      path: usersPath,
      access: securityConfig('READ'),
      summary: 'List the names of the users who can log in',
      answers: [jsonAnswer(namesShape)],
      handle: async (input) => Object.keys(await loadUsers(authenticatorOf(input))),
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
        const users = await loadUsers(authenticatorOf(input))
        const name = nameParameter(input.params, 'user')
        expect(Object.hasOwn(users, name), `User [${name}] does not exist`)
        const credentials = users[name]
        return { name, credentials: credentials ? { algorithm: credentials.algorithm } : null }
      },
    }),
    route({
      method: 'POST',
      path: `${usersPath}/:user`,
      access: securityConfig('WRITE'),
      summary: 'Create a user, who cannot log in until a password is set',
      answers: [emptyAnswer],
      failures: ['conflict'],
      handle: async (input) => {
        const authenticator = authenticatorOf(input)
        const user = nameParameter(input.params, 'user')
        expect(
          isLoginName(user),
          `Invalid value [${user}] for [user]: expected a name without a colon, because a colon ends the name in a login`,
        )
        await change(input, `${authenticator}/users/${user}`, { created: user }, async (transaction) => {
          expect(
            await addAuthenticationUser(transaction, authenticator, user),
            `User [${user}] already exists`,
          )
        })
      },
    }),
    route({
      method: 'DELETE',
      path: `${usersPath}/:user`,
      access: securityConfig('WRITE'),
      summary: 'Delete a user who can log in',
      answers: [emptyAnswer],
      failures: ['conflict'],
      handle: async (input) => {
        const authenticator = authenticatorOf(input)
        const user = nameParameter(input.params, 'user')
        await change(input, `${authenticator}/users/${user}`, { deleted: user }, async (transaction) => {
          expect(
            await removeAuthenticationUser(transaction, authenticator, user),
            `User [${user}] does not exist`,
          )
        })
      },
    }),
    route({
      method: 'POST',
      path: `${usersPath}/:user/credentials`,
      access: securityConfig('WRITE'),
      summary: 'Set the password of a user',
      body: jsonBody(credentialsParser(settings.get('svc.auth.credentials.minLength'))),
      answers: [emptyAnswer],
      failures: ['conflict'],
      handle: async (input) => {
        const authenticator = authenticatorOf(input)
        const user = nameParameter(input.params, 'user')
        const users = await loadUsers(authenticator)
        expect(Object.hasOwn(users, user), `User [${user}] does not exist`)
        const credentials = await hashPassword(input.body.password)
        await change(input, `${authenticator}/users/${user}`, { passwordSet: user }, async (transaction) => {
          expect(
            await replaceCredentials(transaction, authenticator, user, credentials),
            `User [${user}] does not exist`,
          )
        })
      },
    }),
    route({
      method: 'GET',
      path: `${base}/db/:authenticator/cachedSerializedUserMap`,
      access: securityConfig('READ'),
      summary: 'Get the users as servers cache them, without their credentials',
      answers: [jsonAnswer(z.record(z.string(), z.object({ name: z.string() })))],
      handle: async (input) => {
        const users = await loadUsers(authenticatorOf(input))
        return Object.fromEntries(Object.keys(users).map((name) => [name, { name }]))
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
