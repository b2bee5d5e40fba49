import {
  type AuthenticatorStep,
  type ExplainedAccess,
  explainAccess,
  permissionSchema,
} from '@svc/domain/access'
import { checked, omittable, readOneOf } from '@svc/domain/validation'
import type { Settings } from '@svc/shared/config'
import { type Access, jsonAnswer, type Route, route, securityConfig, shapeOf } from '@svc/shared/http'
import { loadUsersAndRoles } from '@svc/shared/postgres'
import { createProblemLog } from '@svc/shared/runtime'
import {
  authorizerOptions,
  compileNamePattern,
  type LdapLogins,
  LdapTraces,
  openLdapLogins,
  type Recognition,
  recognize,
  type UsersAndRoles,
} from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { directoryStepsShape } from '@svc/shared/shapes'
import { severalOf, textParameter } from '@svc/shared/wire'
import * as z from 'zod'
import { verdictOf } from './access-verdict.ts'
import { authorizerOf, knowledgeOfChain } from './chain-knowledge.ts'
import { emptyAuthorizer, expect } from './change-security.ts'
import { findEndpoint } from './find-endpoint.ts'

const text = checked(textParameter, (value) => value !== '', 'a non-empty string')

const explainQuery = {
  user: text,
  path: text,
  method: omittable(readOneOf(['GET', 'POST', 'PUT', 'DELETE']), 'GET'),
  /** Directory groups of the user, one per parameter. Defaults to the groups that the directory returns. */
  group: omittable(severalOf(text), []),
}

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
    directory: directoryStepsShape,
    groups: z.array(z.object({ group: z.string(), counts: z.boolean() })),
    mappings: z.array(z.object({ mapping: z.string(), group: z.string(), roles: z.array(z.string()) })),
    roles: z.array(z.object({ role: z.string(), from: z.array(z.string()), exists: z.boolean() })),
    permissions: z.array(
      z.object({ role: z.string(), permission: shapeOf(permissionSchema), grants: z.boolean().nullable() }),
    ),
    allowed: z.boolean().nullable(),
    because: z.string(),
  })
  .meta({ title: 'AccessExplanation' })

/** Returns the endpoint that explains why a request of a user, with the right password, is allowed or not. */
export function explainRoute(context: Pick<ServiceContext, 'settings' | 'database' | 'logger'>): Route {
  const { settings, database } = context
  const directories = directoriesOnDemand(context)
  return route({
    method: 'GET',
    path: '/svc-ext/basic-security/authorization/db/:authorizer/explain',
    access: securityConfig('READ'),
    summary:
      'Explain why a request from a user is or is not allowed, including the authenticators, roles, mappings, and permissions involved',
    query: explainQuery,
    refusesOtherParameters: true,
    answers: [jsonAnswer(explanationShape)],
    handle: async ({ params, query: { user, path, method, group: given } }) => {
      const requestedAuthorizer = params.authorizer as string
      const known = settings.get('svc.auth.authorizers')
      expect(
        known.includes(requestedAuthorizer),
        `Authorizer [${requestedAuthorizer}] does not exist: expected one of [${known.join(', ')}]`,
      )
      const { access, parameters, template } = await findEndpoint(method, path)
      const needed = neededAccess(access, parameters)
      const stored = await loadUsersAndRoles(database)
      const { recognition, steps } = await recognizeTraced(settings, await directories(), stored, user)
      const who = recognition.kind === 'known' ? recognition : undefined
      const authorizer = who ? authorizerOf(settings, who.authenticator) : requestedAuthorizer
      const { groupFilters, compatibility } = authorizerOptions(settings, authorizer)
      const explanation = explainAccess(
        stored.authorizers[authorizer] ?? emptyAuthorizer,
        { user: who?.identity ?? user, groups: given.length > 0 ? given : (who?.groups ?? []), groupFilters },
        needed,
        compileNamePattern,
        { compatibility },
      )
      return {
        user,
        method,
        path,
        authorizer,
        endpoint: template,
        needs: access,
        authenticators: knowledgeOfChain(settings, stored, user, recognition, authorizer),
        directory: steps,
        ...explanation,
        ...verdictOf(settings, stored, recognition, {
          user,
          path,
          access,
          needed,
          isGranted: explanation.allowed,
          requestedAuthorizer,
          authorizer,
        }),
      }
    },
  })
}

/** Returns how a login with the correct password would be treated, and the requests to directories that show it. */
async function recognizeTraced(
  settings: Settings,
  directories: ReadonlyMap<string, LdapLogins>,
  stored: UsersAndRoles,
  user: string,
): Promise<{ readonly recognition: Recognition; readonly steps: readonly AuthenticatorStep[] }> {
  const traces = new LdapTraces()
  const traced = [...directories].map(([authenticator, { find }]) => {
    const findTraced = (name: string) => find(name, traces.start(authenticator))
    return [authenticator, { find: findTraced }] as const
  })
  const recognition = await recognize(settings, new Map(traced), stored, user)
  return { recognition, steps: traces.steps() }
}

/** Returns a function that opens the directories when an explanation first needs them. */
function directoriesOnDemand({ settings, logger }: Pick<ServiceContext, 'settings' | 'logger'>) {
  const problemLog = createProblemLog(logger)
  let opened: ReturnType<typeof openLdapLogins> | undefined
  return () => {
    opened ??= openLdapLogins(settings, () => performance.now(), problemLog.report)
    return opened
  }
}

/** Returns the permission that an endpoint needs, without a name if it depends on the request, or undefined for none. */
function neededAccess(
  access: Access,
  parameters: Readonly<Record<string, string>>,
): ExplainedAccess | undefined {
  if (access.kind === 'stated') return { action: access.action, type: access.type }
  if (access.kind !== 'permission') return undefined
  const name = 'name' in access ? access.name : (parameters[access.parameter] ?? '')
  return { action: access.action, type: access.type, name }
}
