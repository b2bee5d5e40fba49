import { fileURLToPath } from 'node:url'
import { createConsoleFiles } from '@svc/shared/console-files'
import { runService, type ServiceContext, type ServicePart } from '@svc/shared/service'
import { callerRoute } from './caller-route.ts'
import { interfaceRoutes } from './interface-routes.ts'
import { createProxy } from './proxy.ts'

function buildRouter(context: ServiceContext): ServicePart {
  const proxy = createProxy(context)
  return {
    routes: [...proxy.routes, ...interfaceRoutes(), callerRoute(context)],
    fallback: proxy.forward,
    servePage: createConsoleFiles(
      fileURLToPath(new URL('../../../console/dist', import.meta.url)),
      context.settings.get('svc.auth.authenticatorChain')[0] === 'allowAll' ? 'open' : 'login',
    ),
    isOnlyForwarding: true,
    start: proxy.start,
    stop: proxy.stop,
  }
}

await runService('router', { connections: 2 }, buildRouter)
