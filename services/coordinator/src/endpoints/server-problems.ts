import { jsonAnswer, type Route, route, state } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'
import * as z from 'zod'
import { loadUnavailableServers } from '../answers/index.ts'

const problemsShape = z
  .array(
    z.object({
      role: z.string(),
      server: z.string(),
      state: z
        .enum(['notReady', 'missing'])
        .describe(
          '`notReady` if the server reports a problem, `missing` if it stopped sending heartbeats without leaving the cluster',
        ),
      problem: z.string(),
    }),
  )
  .meta({ title: 'ServerProblems' })

/** Returns the endpoint that lists the servers that cannot serve: those that report why, and those that stopped responding. */
export const serverProblemsRoute = (context: Pick<ServiceContext, 'database' | 'settings'>): Route =>
  route({
    method: 'GET',
    path: '/svc/coordinator/v1/serverProblems',
    access: state('READ'),
    summary:
      'List the servers that report a problem, and the servers that stopped sending heartbeats within the last day without shutting down cleanly',
    answers: [jsonAnswer(problemsShape)],
    handle: () => loadUnavailableServers(context),
  })
