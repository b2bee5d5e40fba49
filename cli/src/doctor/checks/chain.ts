import { nearNames } from '@svc/domain/validation'
import { listOf, placeOf, type Server, secretOf, textOf } from '../configuration.ts'
import { extensionOfType, loadedExtensions } from '../druid-extensions.ts'
import type { Check, CheckInput, Hit } from '../findings.ts'
import {
  type Authenticator,
  acceptsEveryone,
  authorizersProperty,
  chainOf,
  chainProperty,
  definedNames,
  initialPasswordOf,
  reachableBasics,
} from '../logins.ts'
import { neverReady, refusesUnlikeDruid } from '../up-effects.ts'
import { unsetList } from './unset-list.ts'

/** Checks of the authenticator chain: who can log in at all. */
export const chainChecks: readonly Check[] = [
  {
    code: 'login-not-required',
    severity: 'error',
    find: (server) => (server.properties.has(chainProperty) ? [] : [withoutChain(server)]),
  },
  {
    code: 'list-empty',
    severity: 'error',
    prevents: 'start',
    locksOut: 'everyone',
    find: (server) =>
      [chainProperty, authorizersProperty]
        .filter((property) => listOf(server, property)?.length === 0)
        .map((property) => ({
          at: placeOf(server, property),
          problem: `[${property}] is an empty list`,
          effect: 'The servers will not start.',
          fix: `Add at least one ${property === chainProperty ? 'authenticator' : 'authorizer'} to the list.`,
        })),
  },
  {
    code: 'name-repeated',
    severity: 'error',
    prevents: 'start',
    locksOut: 'everyone',
    find: (server) =>
      [chainProperty, authorizersProperty].flatMap((property) => repeatedNames(server, property)),
  },
  {
    code: 'anonymous-allowed',
    severity: 'error',
    find: (server) =>
      chainOf(server)
        .filter(acceptsEveryone)
        .map(({ name, type, authorizer }) => ({
          at: placeOf(server, chainProperty),
          problem: `[${chainProperty}] contains [${name}] of type [${type}], which accepts callers without a login`,
          effect:
            type === 'anonymous'
              ? 'Anyone who can reach a server has the permissions of the anonymous user.'
              : 'Anyone who can reach a server can read, change, and delete everything.',
          fix: `Remove [${name}] from the chain.`,
          // svc has no anonymous users, and every authenticator with another name needs an authorizer.
          ...(name === 'allowAll' || (type === 'allowAll' && authorizer !== undefined)
            ? {}
            : { up: refusesUnlikeDruid }),
        })),
  },
  {
    code: 'authenticator-undefined',
    severity: 'error',
    prevents: 'start',
    locksOut: 'everyone',
    find: undefinedAuthenticators,
  },
  {
    code: 'authenticator-unused',
    severity: 'warning',
    find: (server) => {
      const chain = listOf(server, chainProperty) ?? []
      return definedNames(server, 'authenticator')
        .filter((name) => chain.length > 0 && !chain.includes(name))
        .map((name) => ({
          at: placeOf(server, `druid.auth.authenticator.${name}.type`),
          problem: `The authenticator [${name}] is configured, but [${chainProperty}] does not contain it`,
          effect: `Users of [${name}] cannot log in.`,
          fix: `Add [${name}] to the chain, or remove its properties.`,
        }))
    },
  },
  { code: 'authenticator-unreachable', severity: 'error', find: unreachable },
  { code: 'internal-user-hidden', severity: 'error', locksOut: 'the servers', find: hiddenInternalUser },
  {
    code: 'initial-password-missing',
    severity: 'error',
    find: (server) =>
      reachableBasics(server).some(({ users, prefix }) =>
        users === 'stored' ? server.properties.has(`${prefix}.initialAdminPassword`) : true,
      )
        ? []
        : reachableBasics(server)
            .slice(0, 1)
            .map(({ prefix }) => ({
              at: placeOf(server, `${prefix}.type`),
              problem: `[${prefix}.initialAdminPassword] is not set`,
              effect: 'A new metadata store has no users, so nobody can log in or create a user.',
              fix: `Set [${prefix}.initialAdminPassword].`,
            })),
  },
  {
    code: 'extension-not-loaded',
    severity: 'error',
    prevents: 'start',
    locksOut: 'everyone',
    find: (server) => {
      const loaded = loadedExtensions(server)
      if (loaded === undefined) return []
      return [...new Set(chainOf(server).flatMap(({ type }) => type ?? []))].flatMap((type): Hit[] => {
        const extension = extensionOfType[type]
        if (extension === undefined || loaded.includes(extension)) return []
        return [
          {
            at: placeOf(server, 'druid.extensions.loadList'),
            problem: `[druid.extensions.loadList] does not contain [${extension}], but the chain has an authenticator of type [${type}]`,
            effect: 'The servers will not start: they do not know this type of authenticator.',
            fix: `Add "${extension}" to [druid.extensions.loadList].`,
          },
        ]
      })
    },
  },
]

function withoutChain(server: Server): Hit {
  const {
    names: [configured],
    ...unset
  } = unsetList(server, 'authenticator')
  return {
    ...unset,
    effect: 'Anyone who can reach a server can read, change, and delete everything.',
    fix: `Set [${chainProperty}] to a JSON list of authenticators, such as ["${configured ?? 'metadata'}"].`,
    ...(configured !== undefined ? { up: refusesUnlikeDruid } : {}),
  }
}

function repeatedNames(server: Server, property: string): Hit[] {
  const names = listOf(server, property) ?? []
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) !== index))
  return [...repeated].map((name) => ({
    at: placeOf(server, property),
    problem: `[${property}] contains [${name}] more than once`,
    effect: 'The servers will not start.',
    fix: `Remove all but one [${name}] from the list.`,
  }))
}

function undefinedAuthenticators(server: Server): Hit[] {
  const defined = definedNames(server, 'authenticator')
  return chainOf(server)
    .filter(({ type }) => type === undefined)
    .map(({ name, prefix }) => {
      const [near] = nearNames(name, defined, 1)
      return {
        at: placeOf(server, chainProperty),
        problem: `[${chainProperty}] contains [${name}], but [${prefix}.type] is not set`,
        effect: 'The servers will not start.',
        fix:
          near === undefined
            ? `Set [${prefix}.type], or remove [${name}] from the chain.`
            : `Use [${near}], which already has a type, or set [${prefix}.type].`,
      }
    })
}

/** A basic authenticator that rejects unknown users ends the chain for logins with a user name and password. */
function unreachable(server: Server, input: CheckInput): Hit[] {
  const reached = reachableBasics(server)
  const last = reached.at(-1)
  const missed = chainOf(server).filter(
    (one) => one.type === 'basic' && !reached.some(({ name }) => name === one.name),
  )
  if (last === undefined || missed.length === 0) return []
  const names = missed.map(({ name }) => name).join(', ')
  const internal = missedInternalUser(server, reached, missed, input)
  const property = `${last.prefix}.skipOnFailure`
  return [
    {
      at: server.properties.has(property) ? placeOf(server, property) : placeOf(server, chainProperty),
      problem: `[${property}] is [false], so [${last.name}] rejects users that it does not know`,
      effect:
        internal === undefined
          ? `Users of [${names}] cannot log in: [${last.name}] rejects them first.`
          : `Users of [${names}] cannot log in: [${last.name}] rejects them first. One of them is [${internal}], so servers cannot call each other.`,
      fix: `Set [${property}] to true.`,
      ...(internal === undefined ? {} : { locksOut: 'the servers', up: neverReady }),
    },
  ]
}

/** Returns the internal user if only an authenticator that is never reached stores it. */
function missedInternalUser(
  server: Server,
  reached: readonly Authenticator[],
  missed: readonly Authenticator[],
  { facts }: CheckInput,
): string | undefined {
  const user = textOf(server, 'druid.escalator.internalClientUsername')
  if (textOf(server, 'druid.escalator.type') !== 'basic' || user === undefined) return undefined
  const stores = (one: Authenticator) => one.users === 'stored'
  const isMissed = missed.some((one) => stores(one) && server.properties.has(initialPasswordOf(one, user)))
  const isInDirectory = reached.some((one) => {
    const result = facts.directoryOf(server, one)
    return result?.kind === 'searched' && result.found.includes(user)
  })
  return isMissed && !isInDirectory && !reached.some(stores) ? user : undefined
}

/**
 * Each authenticator that stores users has an internal user of its own, and the first one that knows the name decides. So
 * the servers need the password of the first one.
 */
function hiddenInternalUser(server: Server): Hit[] {
  const escalator = secretOf(server, 'druid.escalator.internalClientPassword')
  if (textOf(server, 'druid.escalator.type') !== 'basic' || escalator === undefined) return []
  const storing = reachableBasics(server).filter(({ users }) => users === 'stored')
  const user = textOf(server, 'druid.escalator.internalClientUsername') ?? ''
  const passwordOf = (one: Authenticator) => secretOf(server, initialPasswordOf(one, user))
  const [first, ...later] = storing.filter((one) => passwordOf(one) !== undefined)
  const meant = later.find((one) => passwordOf(one)?.isEqual(escalator))
  if (first === undefined || meant === undefined || passwordOf(first)?.isEqual(escalator)) return []
  return [
    {
      at: placeOf(server, chainProperty),
      problem: `The escalator uses the password that [${meant.name}] has for [${user}], but [${first.name}] comes earlier in the chain and has a different password for this user`,
      effect: `[${first.name}] knows the user and rejects the password, so [${meant.name}] is never tried: servers cannot call each other.`,
      fix: `Move [${meant.name}] before [${first.name}] in [${chainProperty}], or set the same password for [${user}] in both authenticators.`,
    },
  ]
}
