import { jsonAnswer, type Route, route, state } from '@svc/shared/http'
import { loadMissingNodes, loadServerProblems } from '@svc/shared/postgres'
import { problemLifeMs, type ServiceContext } from '@svc/shared/service'
import * as z from 'zod'

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
export const serverProblemsRoute = ({
  database,
  settings,
}: Pick<ServiceContext, 'database' | 'settings'>): Route =>
  route({
    method: 'GET',
    path: '/svc/coordinator/v1/serverProblems',
    access: state('READ'),
    summary:
      'List the servers that report a problem, and the servers that stopped sending heartbeats within the last day without shutting down cleanly',
    answers: [jsonAnswer(problemsShape)],
    handle: async () => {
      const [reported, missing] = await Promise.all([
        loadServerProblems(database, problemLifeMs),
        loadMissingNodes(database, settings.get('svc.discovery.timeout')),
      ])
      return [
        ...reported.map(({ role, name, problem }) => ({
          role,
          server: name,
          state: 'notReady',
          problem,
        })),
        ...missing.map(({ role, name, silentMs }) => ({
          role,
          server: name,
          state: 'missing',
          problem: `No heartbeat for ${Math.round(silentMs / 1000)} s`,
        })),
      ]
    },
  })
