import { unavailable } from '@svc/domain/failure'
import { emptyAnswer, jsonAnswer, open, type Route, route, state } from '@svc/shared/http'
import { createDataServer, servedSegmentsRoute } from '@svc/shared/segment-serving'
import { runService, type ServiceContext, type ServicePart } from '@svc/shared/service'
import * as z from 'zod'

import { createQueries } from './query/index.ts'
import { createServerView, type ServerView } from './server-view/index.ts'

/** A broker knows which servers serve which segments. With a segment cache, it also loads the segments of broadcast rules. */
function buildBroker(context: ServiceContext): ServicePart {
  const view = createServerView(context)
  const dataServer = createDataServer(context, 'broker')
  const queries = createQueries(context, view, dataServer)
  return {
    routes: [servedSegmentsRoute(dataServer, context), ...brokerRoutes(view), ...queries.routes],
    start: async () => {
      view.start()
      await dataServer.start()
    },
    stop: async () => {
      await queries.stop()
      await view.stop()
      await dataServer.stop()
    },
  }
}

function brokerRoutes(view: ServerView): Route[] {
  return [
    route({
      method: 'GET',
      path: '/svc/broker/v1/loadstatus',
      access: state('READ'),
      summary: 'Check whether the broker knows the segments of every historical',
      answers: [jsonAnswer(z.object({ inventoryInitialized: z.boolean(), segmentCount: z.int() }))],
      handle: () => ({ inventoryInitialized: view.isInitialized(), segmentCount: view.segmentCount() }),
    }),
    route({
      method: 'GET',
      path: '/svc/broker/v1/readiness',
      access: open,
      summary: 'Return 200 if the broker knows the segments of every historical, 503 otherwise',
      answers: [emptyAnswer],
      handle: () => {
        if (!view.isInitialized())
          throw unavailable('The broker has not received the segment lists of all historicals yet')
      },
    }),
  ]
}

await runService('broker', { connections: 4 }, buildBroker)
