import { z } from 'zod'
import type { CallJournal } from '../client/index.ts'
import { jsonAnswer, type Route, route, state } from '../http/index.ts'

const max = 1000

const callShape = z
  .object({
    time: z.string(),
    direction: z.enum(['sent', 'received']),
    from: z.string(),
    to: z.string(),
    method: z.string(),
    path: z.string(),
    tls: z.boolean(),
    identity: z.string(),
    certificate: z.string().nullable(),
    status: z.int().nullable(),
    error: z.string().nullable(),
  })
  .meta({ title: 'Call', description: 'A call between two servers, as seen by one of them' })

/** Returns the endpoint for the last calls between servers. */
export function callRoutes(journal: CallJournal): Route[] {
  return [
    route({
      method: 'GET',
      path: '/svc/internal/v1/calls',
      access: state('READ'),
      summary: 'List the last calls that this server sent to or received from other servers, newest first',
      query: z.object({ count: z.coerce.number().int().min(1).max(max).default(max) }),
      answers: [jsonAnswer(z.array(callShape))],
      handle: ({ query }) => journal.last(query.count),
    }),
  ]
}
