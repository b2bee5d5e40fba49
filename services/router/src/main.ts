import { runService, type ServiceContext, type ServicePart } from '@svc/shared/service'
import { interfaceRoutes } from './interface-routes.ts'
import { createProxy } from './proxy.ts'

function buildRouter(context: ServiceContext): ServicePart {
  const proxy = createProxy(context)
  return {
    routes: [...proxy.routes, ...interfaceRoutes()],
    fallback: proxy.forward,
    start: proxy.start,
    stop: proxy.stop,
  }
}

await runService('router', { connections: 2 }, buildRouter)
