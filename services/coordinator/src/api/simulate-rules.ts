import { jsonBody, Reply, type Route, route, statedDatasource } from '@svc/shared/http'
import { positiveCount, presence } from '@svc/shared/wire'
import { z } from 'zod'
import { atLeader } from '../leadership.ts'
import type { Previews } from '../preview/index.ts'
import type { ClusterView } from './cluster-view.ts'

// A hundred thousand rules find room in it, so that they can be told to be too many.
const limitBytes = 16 * 1024 * 1024
const defaultPage = 1000
const largestPage = 10_000

const query = z.object({
  full: presence,
  limit: positiveCount
    .refine((limit) => limit <= largestPage, { error: `a whole number from 1 to ${largestPage}` })
    .default(defaultPage),
  offset: z
    .string({ error: 'one text, given once' })
    .regex(/^\d{1,9}$/, { error: 'a whole number from 0 to 999999999' })
    .transform(Number)
    .default(0),
})

/** The endpoint that tells what a change of rules would do, and changes nothing. */
export function simulateRulesRoute({ leadership, context }: ClusterView, previews: Previews): Route {
  return atLeader(
    leadership,
    context,
    route({
      method: 'POST',
      path: '/svc/coordinator/v1/rules/simulate',
      access: statedDatasource('READ', 'the datasources that the body names; others are left out'),
      summary:
        'What rules would do to given segments and servers, or to those of the cluster; full with a page of the segments of the cluster',
      query,
      body: jsonBody((json) => json, { limitBytes }),
      handle: async ({ body, query: page, caller, signal }) =>
        new Reply(200, await previews.answer(body, page, caller, signal), {
          'Content-Type': 'application/json; charset=utf-8',
        }),
    }),
  )
}
