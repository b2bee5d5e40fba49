import { z } from 'zod'
import type { CallJournal } from '../calls/index.ts'
import { type Route, route, state } from '../http/index.ts'

const most = 1000

/** The endpoint that tells the last calls among the servers. */
export function callRoutes(journal: CallJournal): Route[] {
  return [
    route({
      method: 'GET',
      path: '/svc/internal/v1/calls',
      access: state('READ'),
      summary: 'The last calls that this server made to others or had from them, newest first',
      query: z.object({ count: z.coerce.number().int().min(1).max(most).default(most) }),
      handle: ({ query }) => journal.last(query.count),
    }),
  ]
}
