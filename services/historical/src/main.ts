import { unavailable } from '@svc/domain/failure'
import { createDataServer, segmentFilesRoute, servedSegmentsRoute } from '@svc/shared/data-server'
import { emptyAnswer, jsonAnswer, open, type Route, route, state } from '@svc/shared/http'
import { runService, type ServiceContext, type ServicePart } from '@svc/shared/service'
import { z } from 'zod'
import { createVirtualServers, virtualServerRoutes } from './virtual-servers/index.ts'

function buildHistorical(context: ServiceContext): ServicePart {
  const dataServer = createDataServer(context, 'historical')
  // A process of virtual servers is none itself: to those who follow it, it shows what they serve together.
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
    // Virtual servers have tiers of their own.
    details: { tier: virtual ? null : context.settings.get('svc.server.tier') },
  }
}

function historicalRoutes({ readiness }: ServiceContext): Route[] {
  return [
    route({
      method: 'GET',
      path: '/svc/historical/v1/loadstatus',
      access: state('READ'),
      summary: 'Whether all that lay on disk at the start is served',
      answers: [jsonAnswer(z.object({ cacheInitialized: z.boolean() }))],
      handle: () => ({ cacheInitialized: readiness.isReady() }),
    }),
    route({
      method: 'GET',
      path: '/svc/historical/v1/readiness',
      access: open,
      summary: 'The same as a status code',
      answers: [emptyAnswer],
      handle: () => {
        if (!readiness.isReady()) throw unavailable('The server is starting')
      },
    }),
  ]
}

await runService('historical', { connections: 2 }, buildHistorical)
