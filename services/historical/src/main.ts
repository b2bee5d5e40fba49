import { unavailable } from '@svc/domain/failure'
import { emptyAnswer, jsonAnswer, open, type Route, route, state } from '@svc/shared/http'
import { createDataServer, segmentFilesRoute, servedSegmentsRoute } from '@svc/shared/segment-serving'
import { runService, type ServiceContext, type ServicePart } from '@svc/shared/service'
import * as z from 'zod'
import { createVirtualServers, virtualServerRoutes } from './virtual-servers/index.ts'

function buildHistorical(context: ServiceContext): ServicePart {
  const dataServer = createDataServer(context, 'historical')
  // A process that runs virtual servers is not a server itself. Followers see what its virtual servers serve in total.
  const virtual =
    context.settings.get('svc.simulation.virtualServers').length > 0
      ? createVirtualServers(context)
      : undefined
  const server = virtual ?? dataServer
  return {
    routes: [
      servedSegmentsRoute(server, context),
      segmentFilesRoute(dataServer),
      ...(virtual ? virtualServerRoutes(virtual) : []),
      ...historicalRoutes(context),
    ],
    start: server.start,
    stop: server.stop,
    // Each virtual server has its own tier.
    details: { tier: virtual ? null : context.settings.get('svc.server.tier') },
  }
}

function historicalRoutes({ readiness }: Pick<ServiceContext, 'readiness'>): Route[] {
  return [
    route({
      method: 'GET',
      path: '/svc/historical/v1/loadstatus',
      access: state('READ'),
      summary: 'Check whether the historical serves all segments that were on disk at startup',
      answers: [jsonAnswer(z.object({ cacheInitialized: z.boolean() }))],
      handle: () => ({ cacheInitialized: readiness.isReady() }),
    }),
    route({
      method: 'GET',
      path: '/svc/historical/v1/readiness',
      access: open,
      summary: 'Return 200 if the historical serves all segments that were on disk at startup, 503 otherwise',
      answers: [emptyAnswer],
      handle: () => {
        if (!readiness.isReady()) throw unavailable('The server is starting')
      },
    }),
  ]
}

await runService('historical', { connections: 2 }, buildHistorical)
