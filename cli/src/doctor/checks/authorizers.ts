import { compileGroupPattern, isGroupPattern, parseDistinguishedName } from '@svc/domain/access'
import { nearNames } from '@svc/domain/validation'
import { listOf, placeOf, type Server, textOf } from '../configuration.ts'
import type { Check, Hit } from '../findings.ts'
import {
  allowsEverything,
  authorizersOf,
  authorizersProperty,
  authorizerTypeOf,
  chainOf,
  createdInternalUser,
  definedNames,
  directoriesOf,
  initialPasswordOf,
  reachableBasics,
  requiresBasicLogin,
} from '../logins.ts'
import { matchesEveryGroup, refusesUnlikeDruid } from '../up-effects.ts'
import { usersOf } from './ldap-check.ts'
import { unsetList } from './unset-list.ts'

const prefixOf = (authorizer: string): string => `druid.auth.authorizer.${authorizer}`

/** Returns the authorizers of authenticators of the chain, each once. */
const usedAuthorizers = (server: Server): readonly string[] => [
  ...new Set(chainOf(server).flatMap(({ authorizer }) => authorizer ?? [])),
]

/** Checks of authorizers: what users who have logged in may do. */
export const authorizerChecks: readonly Check[] = [
  {
    code: 'authorizer-undefined',
    severity: 'error',
    prevents: 'start',
    locksOut: 'everyone',
    find: (server) =>
      authorizersOf(server)
        .filter((name) => authorizerTypeOf(server, name) === undefined)
        .map((name) => {
          const [near] = nearNames(name, definedNames(server, 'authorizer'), 1)
          return {
            at: placeOf(server, authorizersProperty),
            problem: `[${authorizersProperty}] contains [${name}], but [${prefixOf(name)}.type] is not set`,
            effect: 'The servers will not start.',
            fix:
              near === undefined
                ? `Set [${prefixOf(name)}.type].`
                : `Use [${near}], which already has a type, or set [${prefixOf(name)}.type].`,
          }
        }),
  },
  { code: 'authorizer-unknown', severity: 'error', find: unknownAuthorizers },
  {
    code: 'authorizers-not-set',
    severity: 'error',
    find: (server) =>
      allowsEverything(server) && requiresBasicLogin(server) ? [withoutAuthorizers(server)] : [],
  },
  {
    code: 'everything-allowed',
    severity: 'error',
    find: (server) =>
      usedAuthorizers(server)
        .filter((name) => !allowsEverything(server) && authorizerTypeOf(server, name) === 'allowAll')
        .map((name) => ({
          at: server.properties.has(`${prefixOf(name)}.type`)
            ? placeOf(server, `${prefixOf(name)}.type`)
            : placeOf(server, authorizersProperty),
          problem: `The authorizer [${name}] has the type [allowAll]`,
          effect: 'Every user with a login can read, change, and delete everything.',
          fix: `Set [${prefixOf(name)}.type] to basic, and assign roles to users.`,
        })),
  },
  {
    code: 'directory-groups-ignored',
    severity: 'warning',
    find: (server) =>
      directoriesOf(server).flatMap(({ name, authorizer }) => {
        if (authorizer === undefined || authorizerTypeOf(server, authorizer) !== 'basic') return []
        if (allowsEverything(server)) return []
        const property = `${prefixOf(authorizer)}.roleProvider.type`
        if (textOf(server, property) === 'ldap') return []
        return [
          {
            at: placeOf(server, server.properties.has(property) ? property : `${prefixOf(authorizer)}.type`),
            problem: `The authorizer [${authorizer}] of the directory [${name}] does not map groups, because [${property}] is not ldap`,
            effect:
              'Directory users have only the roles assigned to their user names. Every request from a user without a role gets status 403.',
            fix: `Set [${property}] to ldap, unless you assign roles to each user.`,
          },
        ]
      }),
  },
  { code: 'group-pattern-invalid', severity: 'error', find: invalidPatterns },
  {
    code: 'administrator-group-filtered',
    severity: 'error',
    find: (server) =>
      usedAuthorizers(server).flatMap((name) => {
        const filters = `${prefixOf(name)}.roleProvider.groupFilters`
        const mapping = `${prefixOf(name)}.initialAdminGroupMapping`
        const [patterns, group] = [listOf(server, filters) ?? [], textOf(server, mapping)]
        // Whether a pattern and a filter have groups in common depends on the directory.
        if (group === undefined || group.includes('*') || !patterns.some(isDruidPattern)) return []
        if (patterns.some((pattern) => !isDruidPattern(pattern) || compileGroupPattern(pattern)(group)))
          return []
        return [
          {
            at: placeOf(server, filters),
            problem: `[${filters}] does not match [${group}], the group in [${mapping}]`,
            effect: 'Servers ignore the group, so its members are not administrators.',
            fix: `Add [${group}] to [${filters}].`,
          },
        ]
      }),
  },
  { code: 'administrator-missing', severity: 'error', find: withoutAdministrator },
]

function withoutAuthorizers(server: Server): Hit {
  const { names, ...unset } = unsetList(server, 'authorizer')
  return {
    ...unset,
    effect: 'Every user with a login can read, change, and delete everything, and roles have no effect.',
    fix: `Set [${authorizersProperty}] to a JSON list of authorizers, such as ${JSON.stringify(names.length === 0 ? ['metadata'] : names)}.`,
    // svc also has only the authorizer allowAll then, and refuses other names.
    ...(usedAuthorizers(server).every((name) => name === 'allowAll') ? {} : { up: refusesUnlikeDruid }),
  }
}

function unknownAuthorizers(server: Server): Hit[] {
  const authorizers = authorizersOf(server)
  if (allowsEverything(server) || authorizers.length === 0) return []
  return chainOf(server)
    .filter(({ type }) => type === 'basic')
    .filter(({ authorizer }) => authorizer === undefined || !authorizers.includes(authorizer))
    .map(({ name, prefix, authorizer, users }) => ({
      ...(users === 'directory' ? { locksOut: usersOf([{ name }]) } : {}),
      // Without an authorizer, the servers are refused as well.
      ...(users === 'stored' && server.properties.has(initialPasswordOf({ prefix }, createdInternalUser))
        ? { locksOut: 'the servers' }
        : {}),
      at: placeOf(
        server,
        server.properties.has(`${prefix}.authorizerName`) ? `${prefix}.authorizerName` : `${prefix}.type`,
      ),
      problem:
        authorizer === undefined
          ? `[${prefix}.authorizerName] is not set`
          : `[${prefix}.authorizerName] is [${authorizer}], but [${authorizersProperty}] contains only [${authorizers.join(', ')}]`,
      effect: `Users of [${name}] can log in, but all their requests are refused, because no authorizer decides what they are allowed to do.`,
      fix: `Set [${prefix}.authorizerName] to one of [${authorizers.join(', ')}].`,
    }))
}

/** Druid accepts these forms: a complete name, `*,suffix`, and `prefix,*`. A single `*` makes requests fail. */
const isDruidPattern = (pattern: string): boolean => pattern !== '*' && isGroupPattern(pattern)

/** Druid compares a star inside a name literally. */
const isHarmless = (pattern: string): boolean =>
  !pattern.startsWith('*') && parseDistinguishedName(pattern) !== undefined

function invalidPatterns(server: Server): Hit[] {
  return usedAuthorizers(server).flatMap((name) => {
    const filters = `${prefixOf(name)}.roleProvider.groupFilters`
    const mapping = `${prefixOf(name)}.initialAdminGroupMapping`
    const mapped = textOf(server, mapping)
    const written = [
      ...(listOf(server, filters) ?? []).map((pattern) => ({ property: filters, pattern })),
      ...(mapped === undefined ? [] : [{ property: mapping, pattern: mapped }]),
    ]
    return written
      .filter(({ pattern }) => !isDruidPattern(pattern))
      .map(({ property, pattern }) => ({
        at: placeOf(server, property),
        problem: `[${property}] contains [${pattern}], which is not a valid group pattern`,
        effect: isHarmless(pattern)
          ? 'The pattern matches no group, so nobody gets a role from it.'
          : 'Requests from any directory user who belongs to a group fail with status 500, even for administrators.',
        fix: 'Use a complete name such as cn=admins,ou=groups,dc=example,dc=com, or *,ou=groups,dc=example,dc=com.',
        ...(isGroupPattern(pattern) ? { up: matchesEveryGroup } : {}),
        ...(isHarmless(pattern)
          ? {}
          : { locksOut: usersOf(directoriesOf(server).filter(({ authorizer }) => authorizer === name)) }),
      }))
  })
}

/** With directories only, the administrator must be a directory user or a group. */
function withoutAdministrator(server: Server): Hit[] {
  const reached = reachableBasics(server)
  if (allowsEverything(server) || reached.length === 0 || reached.some(({ users }) => users === 'stored'))
    return []
  const names = [...new Set(reached.flatMap(({ authorizer }) => authorizer ?? []))]
  const properties = names
    .filter((name) => authorizerTypeOf(server, name) === 'basic')
    .map(
      (name) => [`${prefixOf(name)}.initialAdminUser`, `${prefixOf(name)}.initialAdminGroupMapping`] as const,
    )
  if (properties.length === 0 || properties.flat().some((property) => server.properties.has(property)))
    return []
  const [[user, mapping]] = properties as [readonly [string, string]]
  return [
    {
      at: placeOf(server, `${prefixOf(names[0] as string)}.type`),
      problem: `Neither [${user}] nor [${mapping}] is set, although all users are in a directory`,
      effect:
        'Only a directory user named admin is an administrator. If there is no such user, nobody can assign roles.',
      fix: `Set [${user}] to a directory user, or [${mapping}] to the administrators' group.`,
    },
  ]
}
