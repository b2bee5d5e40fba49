import { totalmem } from 'node:os'
import { unavailable } from '@svc/domain/failure'
import { config, open, Reply, type Route, route, securityConfig, state } from '../http/index.ts'
import { interfaceVersion } from '../runtime/index.ts'
import type { ServiceContext } from './context.ts'

/** The endpoints that every server has. */
export function statusRoutes(context: ServiceContext): Route[] {
  const isDiscovered = (): boolean =>
    context.discovery.nodes(context.settings.role).some(({ name }) => name === context.node().name)
  const notReady = (): never => {
    throw unavailable(context.readiness.troubles() || 'The server is starting')
  }
  return [
    route({
      method: 'GET',
      path: '/status/health',
      access: open,
      summary: 'Whether the server has started',
      handle: () => context.readiness.isReady() || notReady(),
    }),
    route({
      method: 'GET',
      path: '/status/ready',
      access: open,
      summary: 'Whether the server has started and has no trouble',
      handle: () => (context.readiness.isReady() && context.readiness.troubles() === '') || notReady(),
    }),
    route({
      method: 'GET',
      path: '/status',
      access: state('READ'),
      summary: 'Version and memory',
      handle: () => {
        const memory = process.memoryUsage()
        return {
          version: interfaceVersion,
          modules: [],
          memory: {
            // Without a limit of its own, what a process may use is told as all that a number can hold.
            maxMemory: Math.min(process.constrainedMemory() || totalmem(), totalmem()),
            totalMemory: memory.heapTotal,
            freeMemory: memory.heapTotal - memory.heapUsed,
            usedMemory: memory.heapUsed,
            directMemory: memory.external,
          },
        }
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      access: state('READ'),
      summary: 'The metrics of this server, for Prometheus',
      handle: async () => {
        const { text, contentType } = await context.metrics.text()
        return new Reply(200, text, { 'Content-Type': contentType })
      },
    }),
    route({
      method: 'GET',
      path: '/status/selfDiscovered/status',
      access: state('READ'),
      summary: 'Whether the server finds itself in discovery',
      handle: () => ({ selfDiscovered: isDiscovered() }),
    }),
    route({
      method: 'GET',
      path: '/status/selfDiscovered',
      access: state('READ'),
      summary: 'The same as a status code',
      handle: () => {
        if (!isDiscovered()) throw unavailable('The server does not find itself in discovery')
      },
    }),
    securityLoadStatus(context, 'authentication', 'svc.auth.authenticatorChain'),
    securityLoadStatus(context, 'authorization', 'svc.auth.authorizers'),
    route({
      method: 'GET',
      path: '/status/properties',
      access: config('READ'),
      summary: 'The configuration without passwords',
      handle: () => context.settings.list(),
    }),
  ]
}

/** Whether this server has the users or the roles of each authenticator or authorizer. */
function securityLoadStatus(
  context: ServiceContext,
  kind: 'authentication' | 'authorization',
  names: 'svc.auth.authenticatorChain' | 'svc.auth.authorizers',
): Route {
  return route({
    method: 'GET',
    path: `/svc-ext/basic-security/${kind}/loadStatus`,
    access: securityConfig('READ'),
    summary: `Whether this server has what it needs for ${kind}`,
    handle: () => {
      const loaded = !('missing' in context.directory().current())
      return Object.fromEntries(context.settings.get(names).map((name) => [name, loaded]))
    },
  })
}
