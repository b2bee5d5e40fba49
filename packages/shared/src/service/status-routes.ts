import { totalmem } from 'node:os'
import { unavailable } from '@svc/domain/failure'
import * as z from 'zod'
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

/** What the endpoints of every server need. */
type StatusParts = Pick<ServiceContext, 'settings' | 'discovery' | 'node' | 'readiness' | 'metrics' | 'users'>

/** Returns the endpoints of every server. */
export const statusRoutes = (parts: StatusParts): Route[] => [
  ...readinessRoutes(parts),
  ...usageRoutes(parts),
  ...selfDiscoveryRoutes(parts),
  securityLoadStatus(parts, 'authentication', 'svc.auth.authenticatorChain'),
  securityLoadStatus(parts, 'authorization', 'svc.auth.authorizers'),
  propertiesRoute(parts),
]

function readinessRoutes({ readiness }: Pick<StatusParts, 'readiness'>): Route[] {
  const notReady = (): never => {
    throw unavailable(readiness.problems() || 'The server is starting')
  }
  return [
    route({
      method: 'GET',
      path: '/status/health',
      access: open,
      summary: 'Check whether the server has started',
      answers: [jsonAnswer(z.boolean())],
      handle: () => readiness.isReady() || notReady(),
    }),
    route({
      method: 'GET',
      path: '/status/ready',
      access: open,
      summary: 'Check whether the server has started and has no problems',
      answers: [jsonAnswer(z.boolean())],
      handle: () => (readiness.isReady() && readiness.problems() === '') || notReady(),
    }),
  ]
}

function usageRoutes({ metrics }: Pick<StatusParts, 'metrics'>): Route[] {
  return [
    route({
      method: 'GET',
      path: '/status',
      access: state('READ'),
      summary: 'Get the version and memory usage of the server',
      answers: [jsonAnswer(statusShape)],
      handle: () => ({ version: interfaceVersion, modules: [], memory: memoryUsage() }),
    }),
    route({
      method: 'GET',
      path: '/metrics',
      access: state('READ'),
      summary: 'Get the metrics of this server in the Prometheus text format',
      answers: [textAnswer('text/plain')],
      handle: async () => {
        const { text, contentType } = await metrics.text()
        return new Reply(200, text, { 'Content-Type': contentType })
      },
    }),
  ]
}

/** Returns the memory of this process in bytes. */
function memoryUsage() {
  const { heapTotal, heapUsed, external } = process.memoryUsage()
  return {
    // Without a limit, `constrainedMemory` may return a huge number.
    maxMemory: Math.min(process.constrainedMemory() || totalmem(), totalmem()),
    totalMemory: heapTotal,
    freeMemory: heapTotal - heapUsed,
    usedMemory: heapUsed,
    directMemory: external,
  }
}

function selfDiscoveryRoutes({
  settings,
  discovery,
  node,
}: Pick<StatusParts, 'settings' | 'discovery' | 'node'>): Route[] {
  const isDiscovered = (): boolean => discovery.nodes(settings.role).some(({ name }) => name === node().name)
  return [
    route({
      method: 'GET',
      path: '/status/selfDiscovered/status',
      access: state('READ'),
      summary: 'Check whether service discovery lists the server',
      answers: [jsonAnswer(z.object({ selfDiscovered: z.boolean() }))],
      handle: () => ({ selfDiscovered: isDiscovered() }),
    }),
    route({
      method: 'GET',
      path: '/status/selfDiscovered',
      access: state('READ'),
      summary: 'Return 200 if service discovery lists the server, 503 otherwise',
      answers: [emptyAnswer],
      handle: () => {
        if (!isDiscovered()) throw unavailable('Service discovery does not list this server')
      },
    }),
  ]
}

const propertiesRoute = ({ settings }: Pick<StatusParts, 'settings'>): Route =>
  route({
    method: 'GET',
    path: '/status/properties',
    access: config('READ'),
    summary: 'List the properties of the server, except passwords',
    answers: [jsonAnswer(z.record(z.string(), z.string()))],
    handle: () => settings.list(),
  })

/**
 * Returns the endpoint that shows whether this server has loaded the users or roles of each authenticator or
 * authorizer.
 */
function securityLoadStatus(
  { settings, users }: Pick<StatusParts, 'settings' | 'users'>,
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
      const loaded = !('missing' in users().current())
      return Object.fromEntries(settings.get(names).map((name) => [name, loaded]))
    },
  })
}
