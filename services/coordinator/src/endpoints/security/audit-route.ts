import { formatInstant } from '@svc/domain/time'
import { checked, omittable, readOneOf } from '@svc/domain/validation'
import { jsonAnswer, type Route, route, securityConfig } from '@svc/shared/http'
import { loadSecurityEvents, type SecurityEventType, securityEventTypes } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import { intervalParameter, positiveCount, textParameter } from '@svc/shared/wire'
import * as z from 'zod'

const defaultCount = 100
const maxCount = 1000
const maxTextLength = 256

const kinds = {
  change: 'security',
  loginFailure: 'security.loginFailure',
  forbidden: 'security.forbidden',
  login: 'security.login',
} as const satisfies Record<string, SecurityEventType>
type Kind = keyof typeof kinds

const kindOf = (type: string): Kind | undefined =>
  (Object.keys(kinds) as Kind[]).find((kind) => kinds[kind] === type)

const shortText = checked(
  textParameter,
  (text) => text.length <= maxTextLength,
  `at most ${maxTextLength} characters`,
)

const auditQuery = {
  kind: omittable(readOneOf(Object.keys(kinds) as Kind[])),
  identity: omittable(shortText),
  key: omittable(shortText),
  address: omittable(shortText),
  interval: omittable(intervalParameter),
  count: omittable(positiveCount(maxCount), defaultCount),
  before: omittable(positiveCount()),
}

const auditShape = z
  .object({
    entries: z.array(
      z.object({
        id: z.int(),
        kind: z.enum(Object.keys(kinds) as [Kind, ...Kind[]]),
        key: z.string(),
        identity: z.string(),
        author: z.string(),
        comment: z.string(),
        address: z.string(),
        time: z.string(),
        details: z.unknown(),
      }),
    ),
    before: z.int().nullable(),
  })
  .meta({
    title: 'SecurityAudit',
    description: 'To request the next page, pass the returned value of `before`',
  })

/** Returns the endpoint that lists security events in pages, newest first. */
export function securityAuditRoute({ database }: Pick<ServiceContext, 'database'>): Route {
  return route({
    method: 'GET',
    path: '/svc-ext/basic-security/audit',
    access: securityConfig('READ'),
    summary:
      'List failed logins, requests denied for lack of permission, administrator logins, and changes to users and roles',
    query: auditQuery,
    refusesOtherParameters: true,
    answers: [jsonAnswer(auditShape)],
    handle: async ({ query: { kind, identity, key, address, interval, count, before } }) => {
      const types = kind === undefined ? securityEventTypes : [kinds[kind]]
      const query = { types, identity, key, ip: address, interval, before, count: count + 1 }
      const found = await loadSecurityEvents(database, query)
      const shown = found.slice(0, count)
      return {
        entries: shown.map((entry) => ({
          id: entry.id,
          kind: kindOf(entry.type),
          key: entry.key,
          identity: entry.identity,
          author: entry.author,
          comment: entry.comment,
          address: entry.ip,
          time: formatInstant(entry.createdAt),
          details: JSON.parse(entry.payload) as unknown,
        })),
        // Null if this is the last page.
        before: found.length > count ? (shown.at(-1)?.id ?? null) : null,
      }
    },
  })
}
