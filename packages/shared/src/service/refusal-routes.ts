import { refusalReasons } from '@svc/domain/access'
import { omittable } from '@svc/domain/validation'
import * as z from 'zod'
import { jsonAnswer, type Refusals, type Route, route, securityConfig } from '../http/index.ts'
import type { LastEntries } from '../runtime/index.ts'
import { directoryStepsShape } from '../shapes/index.ts'
import { positiveCount, textParameter } from '../wire/index.ts'

const max = 1000
const query = { count: omittable(positiveCount(max), max), id: omittable(textParameter) }

/** The shape of a certificate in responses. */
export const certificateShape = z.object({
  subject: z.string(),
  issuer: z.string(),
  serialNumber: z.string(),
  names: z.string().describe('Names and addresses that the certificate is valid for'),
  validFrom: z.string(),
  validTo: z.string(),
  fingerprint: z.string(),
})

const handshakeShape = z
  .object({
    id: z.string(),
    time: z.string(),
    address: z.string(),
    code: z
      .string()
      .describe('NO_CERTIFICATE, WRONG_HOST, or a code of the TLS library such as CERT_HAS_EXPIRED'),
    reason: z.string(),
    certificate: certificateShape.nullable(),
  })
  .meta({ title: 'RefusedHandshake' })

const requestShape = z
  .object({
    id: z.string().describe('The X-Request-Id header of the response'),
    time: z.string(),
    address: z.string(),
    method: z.string(),
    path: z.string(),
    status: z.int(),
    user: z.string().describe('The user name in the credentials; empty if the request had no credentials'),
    message: z.string().describe('The message in the response'),
    reason: z
      .enum(refusalReasons)
      .describe('Why the request was refused. The response does not contain the reason for a failed login'),
    because: z.string(),
    directory: directoryStepsShape,
  })
  .meta({ title: 'RefusedRequest' })

/** Returns the endpoints for the last handshakes and requests that this server refused. */
export function refusalRoutes({ handshakes, requests }: Refusals): Route[] {
  return [
    route({
      method: 'GET',
      path: '/svc/internal/v1/refusedHandshakes',
      access: securityConfig('READ'),
      summary:
        'List the most recent TLS handshakes that this server refused, newest first; with `id`, list only that handshake',
      query,
      answers: [jsonAnswer(z.array(handshakeShape))],
      handle: ({ query: { count, id } }) => matching(handshakes, count, id),
    }),
    route({
      method: 'GET',
      path: '/svc/internal/v1/refusedRequests',
      access: securityConfig('READ'),
      summary:
        'List the most recent requests that this server refused because of a failed login or a missing permission, newest first; with `id`, list only the requests with that ID',
      query,
      answers: [jsonAnswer(z.array(requestShape))],
      handle: ({ query: { count, id } }) => matching(requests, count, id),
    }),
  ]
}

const matching = <Entry extends { readonly id: string }>(
  entries: Pick<LastEntries<Entry>, 'newestFirst'>,
  count: number,
  id: string | undefined,
): Entry[] =>
  entries
    .newestFirst()
    .filter((entry) => id === undefined || entry.id === id)
    .slice(0, count)
