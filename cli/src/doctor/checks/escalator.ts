import { flagOf, type Property, placeOf, type Server, secretOf, textOf } from '../configuration.ts'
import type { Check, CheckInput, Hit } from '../findings.ts'
import {
  allowsEverything,
  authorizersOf,
  authorizersProperty,
  chainOf,
  chainProperty,
  createdInternalUser,
  initialPasswordOf,
  reachableBasics,
  requiresBasicLogin,
} from '../logins.ts'
import { neverReady, refusesUnlikeDruid, startsAnyway } from '../up-effects.ts'

const typeProperty = 'druid.escalator.type'
const userProperty = 'druid.escalator.internalClientUsername'
const passwordProperty = 'druid.escalator.internalClientPassword'
const authorizerProperty = 'druid.escalator.authorizerName'

const cannotCall =
  'Servers reject calls from other servers: segments are not loaded, tasks do not start, and queries fail.'

const hasBasicEscalator = (server: Server): boolean => textOf(server, typeProperty) === 'basic'

/** Checks of the escalator: how servers log in to each other. */
export const escalatorChecks: readonly Check[] = [
  {
    code: 'escalator-missing',
    severity: 'error',
    locksOut: 'the servers',
    find: (server) => {
      if (!requiresBasicLogin(server) || !['noop', undefined].includes(textOf(server, typeProperty)))
        return []
      return [
        {
          at: placeOf(server, server.properties.has(typeProperty) ? typeProperty : chainProperty),
          problem: `[${chainProperty}] requires a login, but [${typeProperty}] is ${server.properties.has(typeProperty) ? '[noop]' : 'not set'}`,
          effect: cannotCall,
          fix: `Set [${typeProperty}] to basic, and also set [${userProperty}], [${passwordProperty}], and [${authorizerProperty}].`,
        },
      ]
    },
  },
  {
    code: 'escalator-incomplete',
    severity: 'error',
    locksOut: 'the servers',
    find: (server) =>
      [userProperty, passwordProperty, authorizerProperty]
        .filter((property) => hasBasicEscalator(server) && !server.properties.has(property))
        .map((property) => ({
          at: placeOf(server, typeProperty),
          problem: `[${typeProperty}] is basic, but [${property}] is not set`,
          effect: cannotCall,
          fix: `Set [${property}].`,
          // svc has a default for the user, and does not need the authorizer.
          up: property === passwordProperty ? refusesUnlikeDruid : startsAnyway,
        })),
  },
  { code: 'escalator-differs', severity: 'error', locksOut: 'the servers', find: differences },
  { code: 'escalator-password-wrong', severity: 'error', locksOut: 'the servers', find: wrongPassword },
  {
    code: 'internal-user-not-created',
    severity: 'error',
    locksOut: 'the servers',
    find: (server, input) => {
      const user = missingUser(server)
      if (user === undefined || directoriesAnswer(server, user, input) !== 'missing') return []
      return [
        {
          at: placeOf(server, userProperty),
          problem:
            user === createdInternalUser
              ? `No authenticator that stores users has [initialInternalClientPassword], which creates the user [${user}] in [${userProperty}]`
              : `[${userProperty}] is [${user}], but [initialInternalClientPassword] creates only the user [${createdInternalUser}]`,
          effect: `${cannotCall} This lasts until someone creates the user and gives it all permissions.`,
          fix:
            user === createdInternalUser
              ? 'Set [initialInternalClientPassword], unless the user already exists.'
              : `Set [${userProperty}] to ${createdInternalUser}, unless the user already exists.`,
          ...(user === createdInternalUser ? { up: neverReady } : {}),
        },
      ]
    },
  },
  {
    code: 'internal-user-not-checked',
    severity: 'info',
    find: (server, input) => {
      const user = missingUser(server)
      if (user === undefined || directoriesAnswer(server, user, input) !== 'unknown') return []
      // A user in an authenticator that is never reached is a different finding.
      if (
        canBeCreated(user) &&
        chainOf(server).some((one) => server.properties.has(initialPasswordOf(one, user)))
      )
        return []
      const names = reachableDirectories(server).map(({ name }) => name)
      return [
        {
          at: placeOf(server, userProperty),
          problem: `[${userProperty}] is [${user}], which only the directory [${names.join(', ')}] may have, and svc has not searched it`,
          effect: `If the directory does not have this user: ${cannotCall}`,
          fix: 'Run the command without --offline where it can connect to the directory.',
        },
      ]
    },
  },
  {
    code: 'escalator-authorizer-unknown',
    severity: 'error',
    find: (server) => {
      const name = textOf(server, authorizerProperty)
      const known = authorizersOf(server)
      if (!hasBasicEscalator(server) || name === undefined || known.includes(name)) return []
      if (allowsEverything(server) || known.length === 0) return []
      return [
        {
          at: placeOf(server, authorizerProperty),
          problem: `[${authorizerProperty}] is [${name}], but [${authorizersProperty}] contains only [${known.join(', ')}]`,
          effect: 'Requests that a server sends on its own behalf, such as system queries, are refused.',
          fix: `Set [${authorizerProperty}] to one of [${known.join(', ')}].`,
        },
      ]
    },
  },
  { code: 'logins-differ', severity: 'error', find: differentLogins },
]

const canBeCreated = (user: string): boolean => user === createdInternalUser || user === 'admin'

const reachableDirectories = (server: Server) =>
  reachableBasics(server).filter(({ users }) => users === 'directory')

/** Returns the user of the escalator if no authenticator that a login can reach creates it in the metadata store. */
function missingUser(server: Server): string | undefined {
  const user = textOf(server, userProperty)
  const reached = reachableBasics(server)
  if (!hasBasicEscalator(server) || user === undefined || reached.length === 0) return undefined
  const isCreated = reached.some(
    (one) => one.users === 'stored' && server.properties.has(initialPasswordOf(one, user)),
  )
  return canBeCreated(user) && isCreated ? undefined : user
}

/** Returns whether the directories that a login can reach have a user. Without any, the user is missing. */
function directoriesAnswer(
  server: Server,
  user: string,
  { facts }: CheckInput,
): 'found' | 'missing' | 'unknown' | 'reported' {
  // If there is no other authenticator, the checks of the directory report that.
  const directories = reachableDirectories(server)
  const results = directories.map((one) => facts.directoryOf(server, one))
  if (results.some((result) => result?.kind === 'searched' && result.found.includes(user))) return 'found'
  if (results.includes(undefined)) return 'unknown'
  const isSearched = results.every((result) => result?.kind === 'searched' && result.findsAnyone)
  return isSearched && (directories.length === 0 || chainOf(server).length > 1) ? 'missing' : 'reported'
}

/** Compares a server with one that uses the common file, or with what most servers have. */
function differences(server: Server, { configuration: { servers, commonFile } }: CheckInput): Hit[] {
  return [typeProperty, userProperty, passwordProperty].flatMap((property) => {
    const isSame = (one: Server, other: Server) =>
      isSameValue(one.properties.get(property), other.properties.get(property))
    const usual =
      servers.find(({ properties }) => properties.get(property)?.file === commonFile) ??
      typicalOf(servers, isSame)
    if (usual === undefined || isSame(server, usual) || !server.properties.has(property)) return []
    return [
      {
        at: placeOf(server, property),
        problem: `[${property}] on [${server.name}] differs from the value on other servers, such as [${usual.name}]`,
        effect: `[${server.name}] cannot log in to the other servers, and they cannot log in to it.`,
        fix: `Remove the property from [${server.file}], so that the value in the common file applies.`,
        ...(property === typeProperty && !hasBasicEscalator(server) ? { up: refusesUnlikeDruid } : {}),
      },
    ]
  })
}

/** Two unknown values may be the same, so they count as such. */
const isSameValue = (one: Property | undefined, other: Property | undefined): boolean =>
  one?.secret && other?.secret ? one.secret.isEqual(other.secret) : one?.value === other?.value

/** Returns a server that is the same as most others. */
const typicalOf = (
  servers: readonly Server[],
  isSame: (one: Server, other: Server) => boolean,
): Server | undefined => {
  const countOf = (server: Server) => servers.filter((other) => isSame(server, other)).length
  return servers.toSorted((a, b) => countOf(b) - countOf(a))[0]
}

/** The first authenticator that creates the user of the escalator decides about the logins of that user. */
function wrongPassword(server: Server, input: CheckInput): Hit[] {
  // A server with a password of its own has that finding already.
  if (differences(server, input).length > 0) return []
  const escalator = secretOf(server, passwordProperty)
  const user = textOf(server, userProperty) ?? createdInternalUser
  // Other users are created through the API, with passwords that are not in the configuration.
  if (user !== createdInternalUser && user !== 'admin') return []
  const storing = reachableBasics(server).filter(({ users }) => users === 'stored')
  const initial = storing.flatMap((one) => {
    const property = initialPasswordOf(one, user)
    const secret = secretOf(server, property)
    return secret === undefined ? [] : [{ property, secret }]
  })
  const [first] = initial
  if (escalator === undefined || first === undefined || !hasBasicEscalator(server)) return []
  // Another authenticator may be meant: that is the finding internal-user-hidden.
  if (initial.some(({ secret }) => secret.isEqual(escalator))) return []
  return [
    {
      at: placeOf(server, passwordProperty),
      problem: `[${passwordProperty}] differs from the password in [${first.property}]`,
      effect: cannotCall,
      fix: `Use the same password in both properties. If you changed the password of [${user}] through the API, change the initial password as well, because a new metadata store starts with the initial password.`,
    },
  ]
}

/** Every server checks logins itself, so all need the same chain. */
function differentLogins(server: Server, { configuration }: CheckInput): Hit[] {
  const shapeOf = (one: Server) =>
    JSON.stringify([
      chainOf(one).map(({ name, type, users, authorizer }) => [name, type, users, authorizer]),
      chainOf(one).map(({ prefix }) => flagOf(one, `${prefix}.skipOnFailure`, false)),
    ])
  const usual = typicalOf(configuration.servers, (one, other) => shapeOf(one) === shapeOf(other))
  if (usual === undefined || shapeOf(server) === shapeOf(usual)) return []
  return [
    {
      at: placeOf(server, chainProperty),
      problem: `The authenticators of [${server.name}] differ from those of the other servers, such as [${usual.name}]`,
      effect:
        'The router forwards credentials unchanged, so a user who can log in to one server can be rejected by another.',
      fix: `Configure authenticators only in [${configuration.commonFile}].`,
    },
  ]
}
