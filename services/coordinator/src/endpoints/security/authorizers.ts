import type { AuthorizerRoles } from '@svc/domain/access'
import { emptyAnswer, entityTag, type Route, type RouteInput, route, securityConfig } from '@svc/shared/http'
import { loadUsersAndRoles, readUsersAndRoles, type Transaction } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import { type ChangeSecurity, emptyAuthorizer, expect, nameParameter } from './change-security.ts'

/** The path of one authorizer. */
export const authorizerPath = '/svc-ext/basic-security/authorization/db/:authorizer'

type Input = Pick<RouteInput<unknown, unknown>, 'params' | 'response'>

/** Changes the data of an authorizer. `names` are the other parameters of the path. */
type ApplyChange = (
  transaction: Transaction,
  authorizer: string,
  names: Readonly<Record<string, string>>,
) => Promise<void>

/** The stored data of all authorizers, for endpoints with an authorizer in the path. */
export interface Authorizers {
  /** Returns the authorizer in the path. Throws invalidInput if it does not exist. */
  nameOf(input: Input): string
  /** Returns the data of the authorizer in the path, and adds their version to the headers of the response. */
  load(input: Input): Promise<AuthorizerRoles>
  readonly change: ChangeSecurity
  /** Returns a route without a body that changes one user, role, or group mapping of an authorizer. */
  changeRoute(method: 'POST' | 'DELETE', path: string, summary: string, apply: ApplyChange): Route
}

/** Opens the authorizers of the configuration that store users and roles. */
export function openAuthorizers(
  { settings, database }: Pick<ServiceContext, 'settings' | 'database'>,
  change: ChangeSecurity,
): Authorizers {
  const known = settings
    .get('svc.auth.authorizers')
    .filter((name) => settings.getNamed('svc.auth.authorizer.<name>.type', name) === 'basic')

  const nameOf = ({ params }: Input): string => {
    const name = params.authorizer as string
    expect(known.includes(name), `Authorizer [${name}] does not exist: expected one of [${known.join(', ')}]`)
    return name
  }

  return {
    nameOf,
    change,
    load: async (input) => {
      const authorizer = nameOf(input)
      const { version, authorizers } = await loadUsersAndRoles(database)
      input.response.setHeader('ETag', entityTag(version).ETag)
      return authorizers[authorizer] ?? emptyAuthorizer
    },
    changeRoute: (method, path, summary, apply) =>
      route({
        method,
        path: `${authorizerPath}${path}`,
        access: securityConfig('WRITE'),
        summary,
        answers: [emptyAnswer],
        failures: ['conflict'],
        handle: async (input) => {
          const authorizer = nameOf(input)
          const parameters = Object.keys(input.params).filter((parameter) => parameter !== 'authorizer')
          const names = Object.fromEntries(
            parameters.map((name) => [name, nameParameter(input.params, name)]),
          )
          const key = `${authorizer}${path.replace(/:(\w+)/g, (_, parameter: string) => names[parameter] as string)}`
          await change(input, key, { method, ...names }, (transaction) =>
            apply(transaction, authorizer, names),
          )
        },
      }),
  }
}

/** Reads the data of an authorizer in a transaction. */
export const readAuthorizer = async (
  transaction: Transaction,
  authorizer: string,
): Promise<AuthorizerRoles> =>
  (await readUsersAndRoles(transaction)).authorizers[authorizer] ?? emptyAuthorizer

/** Returns the entry with a name. Throws invalidInput if it does not exist. */
export function entryOf<Value>(entries: Readonly<Record<string, Value>>, name: string, what: string): Value {
  expect(Object.hasOwn(entries, name), `${what} [${name}] does not exist`)
  return entries[name] as Value
}
