import { formatInstant } from '@svc/domain/time'
import { jsonAnswer, type Route, route, securityConfig } from '@svc/shared/http'
import { loadSecurityEvents, type SecurityEventType, securityEventTypes } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import { intervalParameter, positiveCount } from '@svc/shared/wire'
import { z } from 'zod'

const usualCount = 100
const mostCount = 1000

const kinds = {
  change: 'security',
  loginFailure: 'security.loginFailure',
  forbidden: 'security.forbidden',
  login: 'security.login',
} as const satisfies Record<string, SecurityEventType>
type Kind = keyof typeof kinds

const kindOf = (type: string): Kind | undefined =>
  (Object.keys(kinds) as Kind[]).find((kind) => kinds[kind] === type)

const queryText = z.string({ error: 'one text, given once' }).max(256, { error: 'at most 256 characters' })

const auditQuery = z.strictObject({
  kind: z
    .enum(Object.keys(kinds) as [Kind, ...Kind[]], {
      error: `one of [${Object.keys(kinds).join(', ')}]`,
    })
    .optional(),
  identity: queryText.optional(),
  key: queryText.optional(),
  address: queryText.optional(),
  interval: intervalParameter.optional(),
  count: positiveCount
    .refine((count) => count <= mostCount, { error: `a whole number from 1 to ${mostCount}` })
    .default(usualCount),
  before: positiveCount.optional(),
})

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
  .meta({ title: 'SecurityAudit', description: 'With the number in before the next page is asked for' })

/** The endpoint of what happened to users and roles and at the doors of the servers, newest first, page by page. */
export function securityAuditRoute({ database }: ServiceContext): Route {
  return route({
    method: 'GET',
    path: '/svc-ext/basic-security/audit',
    access: securityConfig('READ'),
    summary: 'Changes of users and roles, refused logins, missing permissions and logins of administrators',
    query: auditQuery,
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
        // The number to ask for the next page with; null where there is none.
        before: found.length > count ? (shown.at(-1)?.id ?? null) : null,
      }
    },
  })
}
