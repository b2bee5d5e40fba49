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
      answers: [jsonAnswer(z.boolean())],
      handle: () => context.readiness.isReady() || notReady(),
    }),
    route({
      method: 'GET',
      path: '/status/ready',
      access: open,
      summary: 'Whether the server has started and has no trouble',
      answers: [jsonAnswer(z.boolean())],
      handle: () => (context.readiness.isReady() && context.readiness.troubles() === '') || notReady(),
    }),
    route({
      method: 'GET',
      path: '/status',
      access: state('READ'),
      summary: 'Version and memory',
      answers: [jsonAnswer(statusShape)],
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
      summary: 'Whether the server finds itself in discovery',
      answers: [jsonAnswer(z.object({ selfDiscovered: z.boolean() }))],
      handle: () => ({ selfDiscovered: isDiscovered() }),
    }),
    route({
      method: 'GET',
      path: '/status/selfDiscovered',
      access: state('READ'),
      summary: 'The same as a status code',
      answers: [emptyAnswer],
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
      answers: [jsonAnswer(z.record(z.string(), z.string()))],
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
    answers: [jsonAnswer(z.record(z.string(), z.boolean()))],
    handle: () => {
      const loaded = !('missing' in context.directory().current())
      return Object.fromEntries(context.settings.get(names).map((name) => [name, loaded]))
    },
  })
}
