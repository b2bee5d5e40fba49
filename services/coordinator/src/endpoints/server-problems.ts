import { jsonAnswer, type Route, route, state } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'
import { loadUnavailableServers, serverProblemsShape } from '../answers/index.ts'

/** Returns the endpoint that lists the servers that cannot serve: those that report why, and those that stopped responding. */
export const serverProblemsRoute = (context: Pick<ServiceContext, 'database' | 'settings'>): Route =>
  route({
    method: 'GET',
    path: '/svc/coordinator/v1/serverProblems',
    access: state('READ'),
    summary:
      'List the servers that report a problem, and the servers that stopped sending heartbeats within the last day without shutting down cleanly',
    answers: [jsonAnswer(serverProblemsShape)],
    handle: () => loadUnavailableServers(context),
  })
