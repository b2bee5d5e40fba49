import { formatInstant } from '@svc/domain/time'
import { jsonAnswer, type Route, route, securityConfig } from '@svc/shared/http'
import { loadSecurityEvents, type SecurityEventType, securityEventTypes } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import { intervalParameter, positiveCount } from '@svc/shared/wire'
import { z } from 'zod'

const defaultCount = 100
const maxCount = 1000

const kinds = {
  change: 'security',
  loginFailure: 'security.loginFailure',
  forbidden: 'security.forbidden',
  login: 'security.login',
} as const satisfies Record<string, SecurityEventType>
type Kind = keyof typeof kinds

const kindOf = (type: string): Kind | undefined =>
  (Object.keys(kinds) as Kind[]).find((kind) => kinds[kind] === type)

const queryText = z.string({ error: 'a single value' }).max(256, { error: 'at most 256 characters' })

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
    .refine((count) => count <= maxCount, { error: `an integer from 1 to ${maxCount}` })
    .default(defaultCount),
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
  .meta({ title: 'SecurityAudit', description: 'Pass the value of before to request the next page' })

/** Returns the endpoint that lists security events in pages, newest first. */
export function securityAuditRoute({ database }: ServiceContext): Route {
  return route({
    method: 'GET',
    path: '/svc-ext/basic-security/audit',
    access: securityConfig('READ'),
    summary: 'List changes of users and roles, failed logins, missing permissions, and administrator logins',
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
        // Null if this is the last page.
        before: found.length > count ? (shown.at(-1)?.id ?? null) : null,
      }
    },
  })
}
