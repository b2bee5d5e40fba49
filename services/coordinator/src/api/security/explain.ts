import { explainAccess, type Access as NeededAccess, permissionSchema } from '@svc/domain/access'
import { allowsAnonymous, requiresLogin, usesLdap } from '@svc/shared/config'
import { type Access, jsonAnswer, type Route, route, securityConfig } from '@svc/shared/http'
import { loadSecurityDirectory } from '@svc/shared/postgres'
import { createTroubleLog } from '@svc/shared/runtime'
import {
  allowsEverything,
  authorizerOptions,
  compileNamePattern,
  openLdapLogins,
  type Recognition,
  recognize,
  type SecurityDirectory,
  unsecuredPaths,
} from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { shapeOf } from '@svc/shared/wire'
import { z } from 'zod'
import { emptyAuthorizer, expect } from './change.ts'
import { findEndpoint } from './endpoint-access.ts'

const text = z.string({ error: 'a single value' }).min(1, { error: 'a non-empty string' })

const explainQuery = z.strictObject({
  user: text,
  path: text,
  method: z
    .enum(['GET', 'POST', 'PUT', 'DELETE'], { error: 'one of [GET, POST, PUT, DELETE]' })
    .default('GET'),
  /** Directory groups of the user, one per parameter. Defaults to the groups that the directory returns. */
  group: z.union([text.transform((one) => [one]), z.array(text).max(1000)]).default([]),
})

const explanationShape = z
  .object({
    user: z.string(),
    method: z.string(),
    path: z.string(),
    authorizer: z.string(),
    endpoint: z.string(),
    needs: z.looseObject({ kind: z.string() }),
    authenticators: z.array(
      z.object({
        name: z.string(),
        knows: z.string(),
        skipOnFailure: z.boolean().optional(),
        usesThisAuthorizer: z.boolean(),
      }),
    ),
    groups: z.array(z.object({ group: z.string(), counts: z.boolean() })),
    mappings: z.array(z.object({ mapping: z.string(), group: z.string(), roles: z.array(z.string()) })),
    roles: z.array(z.object({ role: z.string(), from: z.array(z.string()), exists: z.boolean() })),
    permissions: z.array(
      z.object({ role: z.string(), permission: shapeOf(permissionSchema()), grants: z.boolean() }),
    ),
    allowed: z.boolean(),
    because: z.string(),
  })
  .meta({ title: 'AccessExplanation' })

/** What an authenticator knows about a user. */
const knowledgeTexts = {
  everyone: 'accepts everyone',
  directory: 'queries its directory',
  found: 'found the user in its directory',
  unknown: 'does not know the user',
  withoutPassword: 'knows the user, who has no password yet',
  known: 'knows the user',
} as const

type Known = Extract<Recognition, { kind: 'known' }>

/** Whether a request is allowed, and why. */
interface Verdict {
  readonly allowed: boolean
  readonly because: string
}

/** Returns the endpoint that explains why a request of a user, with the right password, is allowed or not. */
export function explainRoute({ settings, database, logger }: ServiceContext): Route {
  const chain = settings.get('svc.auth.authenticatorChain')
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  const isUnsecured = unsecuredPaths(settings)
  const trouble = createTroubleLog(logger)
  let opened: ReturnType<typeof openLdapLogins> | undefined
  const directories = () => {
    opened ??= openLdapLogins(settings, () => performance.now(), trouble.report)
    return opened
  }
  return route({
    method: 'GET',
    path: '/svc-ext/basic-security/authorization/db/:authorizer/explain',
    access: securityConfig('READ'),
    summary:
      'Explain which authenticators, roles, mappings, and permissions decide about a request of a user, and why',
    query: explainQuery,
    answers: [jsonAnswer(explanationShape)],
    handle: async ({ params, query: { user, path, method, group: given } }) => {
      const authorizerName = params.authorizer as string
      const known = settings.get('svc.auth.authorizers')
      expect(
        known.includes(authorizerName),
        `Authorizer [${authorizerName}] does not exist: expected one of [${known.join(', ')}]`,
      )
      const endpoint = await findEndpoint(method, path)
      const needed = neededAccess(endpoint.access, endpoint.parameters)
      const stored = await loadSecurityDirectory(database)
      const recognition = await recognize(settings, await directories(), stored, user)
      const who = recognition.kind === 'known' ? recognition : undefined
      const authorizer = who ? authorizerOf(who) : authorizerName
      const { groupFilters, compatibility } = authorizerOptions(settings, authorizer)
      const explanation = explainAccess(
        stored.authorizers[authorizer] ?? emptyAuthorizer,
        { user: who?.identity ?? user, groups: given.length > 0 ? given : (who?.groups ?? []), groupFilters },
        needed,
        compileNamePattern,
        { compatibility },
      )
      const verdict =
        withoutLogin(endpoint.access, path) ??
        (recognition.kind === 'known'
          ? verdictOf(
              recognition,
              { user, authorizerName, authorizer },
              endpoint.access,
              needed,
              explanation.allowed,
            )
          : refusal(recognition, user))
      return {
        user,
        method,
        path,
        authorizer,
        endpoint: endpoint.template,
        needs: endpoint.access,
        authenticators: authenticatorsOf(stored, authorizer, user, recognition),
        ...explanation,
        ...verdict,
      }
    },
  })

  /** Returns the authorizer that decides about a user. */
  function authorizerOf({ authenticator }: Known): string {
    if (authenticator === 'allowAll' && chain[0] === 'allowAll') return 'allowAll'
    return settings.getNamed('svc.auth.authenticator.<name>.authorizerName', authenticator) ?? ''
  }

  function knowledgeOf(
    name: string,
    stored: SecurityDirectory,
    user: string,
    recognition: Recognition,
  ): keyof typeof knowledgeTexts {
    if (allowsAnonymous(settings, name)) return 'everyone'
    if (usesLdap(settings, name))
      return 'authenticator' in recognition && recognition.authenticator === name ? 'found' : 'directory'
    const users = stored.authenticators[name] ?? {}
    if (!Object.hasOwn(users, user)) return 'unknown'
    return users[user] === null ? 'withoutPassword' : 'known'
  }

  /** Returns the authenticators of the chain in order, with what each one knows about the user. */
  function authenticatorsOf(
    stored: SecurityDirectory,
    authorizer: string,
    user: string,
    recognition: Recognition,
  ) {
    return chain.map((name) => {
      const knowledge = knowledgeOf(name, stored, user, recognition)
      const knows = knowledgeTexts[knowledge]
      const usesThisAuthorizer =
        authorizerOf({ kind: 'known', authenticator: name, identity: '', groups: [] }) === authorizer
      if (knowledge === 'everyone') return { name, knows, usesThisAuthorizer }
      const skipOnFailure = settings.getNamed('svc.auth.authenticator.<name>.skipOnFailure', name) === true
      return { name, knows, skipOnFailure, usesThisAuthorizer }
    })
  }

  /** Returns the verdict for paths that need no login, or undefined if a login is needed. */
  function withoutLogin(access: Access, path: string): Verdict | undefined {
    if (access.kind === 'open') return { allowed: true, because: 'The endpoint needs no login' }
    if (!isUnsecured(path.split('?', 1)[0] as string)) return undefined
    return access.kind === 'internal'
      ? {
          allowed: false,
          because:
            'The endpoint is for servers only, and its path is in [svc.auth.unsecuredPaths], so callers are not identified as servers',
        }
      : {
          allowed: true,
          because: 'The path is in [svc.auth.unsecuredPaths], so it needs no login and no permission',
        }
  }

  function refusal(recognition: Exclude<Recognition, Known>, user: string): Verdict {
    switch (recognition.kind) {
      case 'unavailable':
        return {
          allowed: false,
          because: `${recognition.message}. While the directory is unavailable, logins of [${user}] fail with 503 and directory groups are not looked up`,
        }
      case 'hidden':
        return {
          allowed: false,
          because: `[${user}] cannot log in: the directory of [${recognition.authenticator}] calls this user [${recognition.identity}], which is the name of a user of another authenticator`,
        }
      case 'unknown':
        return {
          allowed: false,
          because: `[${user}] cannot log in: no authenticator that is tried has a password for this user`,
        }
    }
  }

  function verdictOf(
    who: Known,
    {
      user,
      authorizerName,
      authorizer,
    }: { readonly user: string; readonly authorizerName: string; readonly authorizer: string },
    access: Access,
    needed: NeededAccess | undefined,
    granted: boolean,
  ): Verdict {
    const { allowed, because } = decide(who, authorizer, access, needed, granted)
    const networks = settings.get('svc.auth.internalClientAllowedNetworks')
    const prefixes = [
      ...(who.identity === user ? [] : [`[${user}] logs in as [${who.identity}]`]),
      ...(who.identity === internalUser && networks.length > 0
        ? [`[${internalUser}] can log in only from [${networks.join(', ')}]`]
        : []),
      ...(authorizer === authorizerName
        ? []
        : [
            `Authorizer [${authorizerName}] does not decide: the user belongs to authenticator [${who.authenticator}], which uses authorizer [${authorizer}]`,
          ]),
    ]
    return { allowed, because: [...prefixes, because].join('. ') }
  }

  function decide(
    { authenticator, identity }: Known,
    authorizer: string,
    access: Access,
    needed: NeededAccess | undefined,
    granted: boolean,
  ): Verdict {
    if (access.kind === 'internal') {
      if (!requiresLogin(settings))
        return { allowed: true, because: 'No login is required, so everyone may call internal endpoints' }
      return identity === internalUser && !allowsAnonymous(settings, authenticator)
        ? { allowed: true, because: `The endpoint is for servers, and [${identity}] is the internal user` }
        : {
            allowed: false,
            because: `The endpoint is for servers only, and the internal user is [${internalUser}]`,
          }
    }
    if (allowsEverything(settings, authorizer))
      return { allowed: true, because: 'The authorizer allows everything' }
    if (access.kind === 'open' || access.kind === 'authenticated')
      return {
        allowed: true,
        because: 'Any login is sufficient; the response is filtered by the permissions of the user',
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

/** Returns the permission that an endpoint needs, or undefined if it needs none or if it depends on the request. */
function neededAccess(
  access: Access,
  parameters: Readonly<Record<string, string>>,
): NeededAccess | undefined {
  if (access.kind !== 'permission') return undefined
  const name = 'name' in access ? access.name : (parameters[access.parameter] ?? '')
  return { action: access.action, type: access.type, name }
}
