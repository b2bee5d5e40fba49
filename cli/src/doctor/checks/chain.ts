import { nearNames } from '@svc/domain/validation'
import { listOf, placeOf, type Server, secretOf, textOf } from '../configuration.ts'
import type { Check, Hit } from '../findings.ts'
import {
  type Authenticator,
  acceptsEveryone,
  chainOf,
  chainProperty,
  definedNames,
  initialPasswordOf,
  reachableBasics,
  requiresBasicLogin,
} from '../logins.ts'

/** Checks of the authenticator chain: who can log in at all. */
export const chainChecks: readonly Check[] = [
  {
    code: 'login-not-required',
    severity: 'error',
    find: (server) =>
      listOf(server, chainProperty)?.length === 0 || !server.properties.has(chainProperty)
        ? [withoutChain(server)]
        : [],
  },
  {
    code: 'anonymous-allowed',
    severity: 'error',
    find: (server) =>
      chainOf(server)
        .filter(acceptsEveryone)
        .map(({ name, type }) => ({
          at: placeOf(server, chainProperty),
          problem: `[${chainProperty}] contains [${name}] of type [${type}], which accepts callers without a login`,
          effect:
            type === 'anonymous'
              ? 'Anyone who can reach a server has the permissions of the anonymous user.'
              : 'Anyone who can reach a server can read, change, and delete everything.',
          fix: `Remove [${name}] from the chain.`,
        })),
  },
  { code: 'authenticator-undefined', severity: 'error', find: undefinedAuthenticators },
  {
    code: 'authenticator-unused',
    severity: 'warning',
    find: (server) => {
      const chain = listOf(server, chainProperty)
      return definedNames(server, 'authenticator')
        .filter((name) => chain !== undefined && !chain.includes(name))
        .map((name) => ({
          at: placeOf(server, `druid.auth.authenticator.${name}.type`),
          problem: `The authenticator [${name}] is configured, but [${chainProperty}] does not contain it`,
          effect: `Users of [${name}] cannot log in.`,
          fix: `Add [${name}] to the chain, or remove its properties.`,
        }))
    },
  },
  { code: 'authenticator-unreachable', severity: 'error', find: unreachable },
  { code: 'internal-user-hidden', severity: 'error', find: hiddenInternalUser },
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
    find: (server) => {
      const loaded = listOf(server, 'druid.extensions.loadList')
      if (loaded === undefined || loaded.includes('druid-basic-security') || !requiresBasicLogin(server))
        return []
      return [
        {
          at: placeOf(server, 'druid.extensions.loadList'),
          problem: `[druid.extensions.loadList] does not contain [druid-basic-security], but the chain has an authenticator of type [basic]`,
          effect: 'The servers will not start: they do not know this type of authenticator.',
          fix: 'Add "druid-basic-security" to [druid.extensions.loadList].',
        },
      ]
    },
  },
]

function withoutChain(server: Server): Hit {
  const [configured] = definedNames(server, 'authenticator')
  const property = configured === undefined ? chainProperty : `druid.auth.authenticator.${configured}.type`
  return {
    at: placeOf(server, server.properties.has(chainProperty) ? chainProperty : property),
    problem: server.properties.has(chainProperty)
      ? `[${chainProperty}] is an empty list`
      : configured === undefined
        ? `[${chainProperty}] is not set`
        : `The authenticator [${configured}] is configured, but [${chainProperty}] is not set`,
    effect: 'Anyone who can reach a server can read, change, and delete everything.',
    fix: `Set [${chainProperty}] to a JSON list of authenticators, such as ["${configured ?? 'metadata'}"].`,
  }
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
function unreachable(server: Server): Hit[] {
  const reached = reachableBasics(server)
  const last = reached.at(-1)
  const missed = chainOf(server).filter(
    (one) => one.type === 'basic' && !reached.some(({ name }) => name === one.name),
  )
  if (last === undefined || missed.length === 0) return []
  const property = `${last.prefix}.skipOnFailure`
  return [
    {
      at: server.properties.has(property) ? placeOf(server, property) : placeOf(server, chainProperty),
      problem: `[${property}] is [false], so [${last.name}] rejects users that it does not know`,
      effect: `Users of [${missed.map(({ name }) => name).join(', ')}] cannot log in: [${last.name}] rejects them first.`,
      fix: `Set [${property}] to true.`,
    },
  ]
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
