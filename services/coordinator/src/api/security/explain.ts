import { explainAccess, type Access as NeededAccess } from '@svc/domain/access'
import { type Access, type Route, route, securityConfig } from '@svc/shared/http'
import { loadSecurityDirectory } from '@svc/shared/postgres'
import { authorizerOptions, compileNamePattern, type SecurityDirectory } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { z } from 'zod'
import { emptyAuthorizer, expect } from './change.ts'
import { findEndpoint } from './endpoint-access.ts'

const text = z.string({ error: 'one text, given once' }).min(1, { error: 'a text that is not empty' })

const explainQuery = z.strictObject({
  user: text,
  path: text,
  method: z
    .enum(['GET', 'POST', 'PUT', 'DELETE'], { error: 'one of [GET, POST, PUT, DELETE]' })
    .default('GET'),
  /** The directory groups of the user, one a parameter: only the directory knows them. */
  group: z.union([text.transform((one) => [one]), z.array(text).max(1000)]).default([]),
})

/** What an authenticator knows of a user. */
const knowledgeTexts = {
  everyone: 'lets everyone in',
  directory: 'asks its directory',
  unknown: 'does not know the user',
  withoutPassword: 'knows the user, who has no password yet',
  known: 'knows the user',
} as const

/** The endpoint that tells why a user may or may not do something. */
export function explainRoute({ settings, database }: ServiceContext): Route {
  const chain = settings.get('svc.auth.authenticatorChain')
  const skipsOn = (name: string) =>
    settings.getNamed('svc.auth.authenticator.<name>.skipOnFailure', name) === true
  return route({
    method: 'GET',
    path: '/svc-ext/basic-security/authorization/db/:authorizer/explain',
    access: securityConfig('READ'),
    summary:
      'Which authenticators, roles, mappings and permissions decide about a request of a user, and why',
    query: explainQuery,
    handle: async ({ params, query: { user, path, method, group: groups } }) => {
      const authorizer = params.authorizer as string
      const known = settings.get('svc.auth.authorizers')
      expect(
        known.includes(authorizer),
        `Authorizer [${authorizer}] does not exist; allowed is one of [${known.join(', ')}]`,
      )
      const endpoint = await findEndpoint(method, path)
      const needed = neededAccess(endpoint.access, endpoint.parameters)
      const stored = await loadSecurityDirectory(database)
      const { groupFilters, compatibility } = authorizerOptions(settings, authorizer)
      const explanation = explainAccess(
        stored.authorizers[authorizer] ?? emptyAuthorizer,
        { user, groups, groupFilters },
        needed,
        compileNamePattern,
        { compatibility },
      )
      const everything =
        authorizer === 'allowAll' ||
        settings.getNamed('svc.auth.authorizer.<name>.type', authorizer) === 'allowAll'
      const verdict =
        endpoint.access.kind === 'open' || mayLogIn(stored, user)
          ? decide(endpoint.access, user, needed, explanation.allowed, everything)
          : {
              allowed: false,
              because: `[${user}] cannot log in: no authenticator that is asked knows a password of that user`,
            }
      return {
        user,
        method,
        path,
        authorizer,
        endpoint: endpoint.template,
        needs: endpoint.access,
        authenticators: authenticatorsOf(stored, authorizer, user),
        ...explanation,
        ...verdict,
      }
    },
  })

  function knowledgeOf(name: string, stored: SecurityDirectory, user: string): keyof typeof knowledgeTexts {
    if (name === 'allowAll' || settings.getNamed('svc.auth.authenticator.<name>.type', name) === 'allowAll')
      return 'everyone'
    if (settings.getNamed('svc.auth.authenticator.<name>.credentialsValidator.type', name) === 'ldap')
      return 'directory'
    const users = stored.authenticators[name] ?? {}
    if (!Object.hasOwn(users, user)) return 'unknown'
    return users[user] === null ? 'withoutPassword' : 'known'
  }

  /** Whether a login of the user may be taken: of those in a directory only that knows. */
  function mayLogIn(stored: SecurityDirectory, user: string): boolean {
    const last = chain.findIndex((name) => !skipsOn(name))
    const asked = last === -1 ? chain : chain.slice(0, last + 1)
    return asked.some((name) => ['everyone', 'directory', 'known'].includes(knowledgeOf(name, stored, user)))
  }

  /** The members of the chain, in order, with what each knows of the user. */
  function authenticatorsOf(stored: SecurityDirectory, authorizer: string, user: string) {
    return chain.map((name) => {
      const knowledge = knowledgeOf(name, stored, user)
      const knows = knowledgeTexts[knowledge]
      if (knowledge === 'everyone') return { name, knows, usesThisAuthorizer: authorizer === 'allowAll' }
      return {
        name,
        knows,
        skipOnFailure: skipsOn(name),
        usesThisAuthorizer:
          settings.getNamed('svc.auth.authenticator.<name>.authorizerName', name) === authorizer,
      }
    })
  }

  function decide(
    access: Access,
    user: string,
    needed: NeededAccess | undefined,
    granted: boolean,
    everything: boolean,
  ): { readonly allowed: boolean; readonly because: string } {
    if (access.kind === 'open') return { allowed: true, because: 'The endpoint needs no login' }
    if (access.kind === 'internal') {
      const internalUser = settings.get('svc.escalator.internalClientUsername')
      return user === internalUser
        ? { allowed: true, because: `The endpoint is for the servers, and [${user}] is their user` }
        : { allowed: false, because: `The endpoint is for the servers only, whose user is [${internalUser}]` }
    }
    if (everything) return { allowed: true, because: 'The authorizer allows everything' }
    if (access.kind === 'authenticated')
      return {
        allowed: true,
        because: 'Any login will do; what is shown is filtered by the permissions of the user',
      }
    if (!needed) {
      const about = access.kind === 'stated' ? access.about : ''
      return {
        allowed: true,
        because: `It depends on ${about}: the user needs [${access.action}] on [${access.type}] of that name`,
      }
    }
    const { action, type, name } = needed
    return granted
      ? { allowed: true, because: `A role of the user grants [${action}] on [${type}] [${name}]` }
      : { allowed: false, because: `No role of the user grants [${action}] on [${type}] [${name}]` }
  }
}

/** What an endpoint needs for a path; undefined where no permission, or one that the request itself names. */
function neededAccess(
  access: Access,
  parameters: Readonly<Record<string, string>>,
): NeededAccess | undefined {
  if (access.kind !== 'permission') return undefined
  const name = 'name' in access ? access.name : (parameters[access.parameter] ?? '')
  return { action: access.action, type: access.type, name }
}
