import { totalmem } from 'node:os'
import { unavailable } from '@svc/domain/failure'
import { z } from 'zod'
import {
  config,
  emptyAnswer,
  jsonAnswer,
  open,
  Reply,
  type Route,
  route,
  securityConfig,
  state,
  textAnswer,
} from '../http/index.ts'
import { interfaceVersion } from '../runtime/index.ts'
import type { ServiceContext } from './context.ts'

const statusShape = z
  .object({
    version: z.string(),
    modules: z.array(z.unknown()),
    memory: z.object({
      maxMemory: z.int(),
      totalMemory: z.int(),
      freeMemory: z.int(),
      usedMemory: z.int(),
      directMemory: z.int(),
    }),
  })
  .meta({ title: 'ServerStatus' })

/** Returns the endpoints of every server. */
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
      summary: 'Check whether the server has started',
      answers: [jsonAnswer(z.boolean())],
      handle: () => context.readiness.isReady() || notReady(),
    }),
    route({
      method: 'GET',
      path: '/status/ready',
      access: open,
      summary: 'Check whether the server has started and has no problems',
      answers: [jsonAnswer(z.boolean())],
      handle: () => (context.readiness.isReady() && context.readiness.troubles() === '') || notReady(),
    }),
    route({
      method: 'GET',
      path: '/status',
      access: state('READ'),
      summary: 'Get the version and the memory usage',
      answers: [jsonAnswer(statusShape)],
      handle: () => {
        const memory = process.memoryUsage()
        return {
          version: interfaceVersion,
          modules: [],
          memory: {
            // Without a limit, `constrainedMemory` may return a huge number.
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
      summary: 'Get the metrics of this server in the Prometheus text format',
      answers: [textAnswer('text/plain')],
      handle: async () => {
        const { text, contentType } = await context.metrics.text()
        return new Reply(200, text, { 'Content-Type': contentType })
      },
    }),
    route({
      method: 'GET',
      path: '/status/selfDiscovered/status',
      access: state('READ'),
      summary: 'Check whether the server finds itself in service discovery',
      answers: [jsonAnswer(z.object({ selfDiscovered: z.boolean() }))],
      handle: () => ({ selfDiscovered: isDiscovered() }),
    }),
    route({
      method: 'GET',
      path: '/status/selfDiscovered',
      access: state('READ'),
      summary:
        'Check whether the server finds itself in service discovery: status 200 if it does, 503 if not',
      answers: [emptyAnswer],
      handle: () => {
        if (!isDiscovered()) throw unavailable('The server does not find itself in service discovery')
      },
    }),
    securityLoadStatus(context, 'authentication', 'svc.auth.authenticatorChain'),
    securityLoadStatus(context, 'authorization', 'svc.auth.authorizers'),
    route({
      method: 'GET',
      path: '/status/properties',
      access: config('READ'),
      summary: 'List the properties of the server without passwords',
      answers: [jsonAnswer(z.record(z.string(), z.string()))],
      handle: () => context.settings.list(),
    }),
  ]
}

/**
 * Returns the endpoint that shows whether this server has loaded the users or roles of each authenticator or
 * authorizer.
 */
function securityLoadStatus(
  context: ServiceContext,
  kind: 'authentication' | 'authorization',
  names: 'svc.auth.authenticatorChain' | 'svc.auth.authorizers',
): Route {
  return route({
    method: 'GET',
    path: `/svc-ext/basic-security/${kind}/loadStatus`,
    access: securityConfig('READ'),
    summary: `Check whether this server has loaded the data for ${kind}`,
    answers: [jsonAnswer(z.record(z.string(), z.boolean()))],
    handle: () => {
      const loaded = !('missing' in context.directory().current())
      return Object.fromEntries(context.settings.get(names).map((name) => [name, loaded]))
    },
  })
}
