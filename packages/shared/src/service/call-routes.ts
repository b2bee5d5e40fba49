import { callJournalPath } from '@svc/domain/calls'
import { omittable } from '@svc/domain/validation'
import * as z from 'zod'
import type { CallJournal } from '../client/index.ts'
import { jsonAnswer, type Route, route, state } from '../http/index.ts'
import { positiveCount } from '../wire/index.ts'

const max = 1000
const countQuery = { count: omittable(positiveCount(max), max) }

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
      path: callJournalPath,
      access: state('READ'),
      summary: 'List the most recent calls between this server and other servers, newest first',
      query: countQuery,
      answers: [jsonAnswer(z.array(callShape))],
      handle: ({ query }) => journal.last(query.count),
    }),
  ]
}
