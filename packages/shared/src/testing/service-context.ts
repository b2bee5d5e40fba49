import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Role } from '../config/index.ts'
import type { Discovery } from '../discovery/index.ts'
import type { Database } from '../postgres/index.ts'
import { createReadiness, systemClock } from '../runtime/index.ts'
import type { UsersAndRoles } from '../security/index.ts'
import type { ServiceContext, ServicePart } from '../service/index.ts'
import { type RecordingLogger, recordingLogger } from './recording-logger.ts'
import type { TestStores } from './stores.ts'
import type { Scope } from './temporary.ts'

/** The context of a service in this process, with real stores, a real port, and a recorded log. */
export interface TestContext extends ServiceContext {
  readonly logger: RecordingLogger
  readonly port: number
  readonly database: Database
  readonly discovery: Discovery
  /** Starts answering requests, and announces this server. */
  serve(part: Pick<ServicePart, 'routes' | 'fallback'>): Promise<void>
  /** Replaces the users and roles. */
  replaceUsers(next: UsersAndRoles): void
  /** Starts stopping, as a signal would. */
  beginToStop(): void
}

/** The parts of a server, which are loaded on first use, because tests of complete clusters run their servers elsewhere. */
async function loadServerParts() {
  const [client, discovery, faults, http, metrics, security, tls] = await Promise.all([
    import('../client/index.ts'),
    import('../discovery/index.ts'),
    import('../faults/index.ts'),
    import('../http/index.ts'),
    import('../metrics/index.ts'),
    import('../security/index.ts'),
    import('../tls/index.ts'),
  ])
  return { ...client, ...discovery, ...faults, ...http, ...metrics, ...security, ...tls }
}

/** Creates the context of a service; everything is stopped at the end of the scope. */
export async function createTestContext(
  scope: Scope,
  stores: TestStores,
  role: Role,
  properties: Readonly<Record<string, string>> = {},
): Promise<TestContext> {
  const parts = await loadServerParts()
  let handler: RequestListener = (_request, response) => response.writeHead(503).end()
  const server = createServer((request, response) => handler(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const settings = stores.settings(role, { 'svc.plaintextPort': String(port), ...properties })
  const logger = recordingLogger()
  const database = stores.connect(4, settings.get('svc.service'))
  const discovery = parts.startDiscovery(database, settings, logger)
  const stopping = new AbortController()
  const node = nodeAt(port, role, settings.get('svc.service'))
  const tlsStores = parts.fixedStores({ server: undefined, client: {} })
  const escalator = parts.createEscalator(settings)
  const client = parts.createServiceClient(settings, () => `${role} ${node.name}`, discovery, tlsStores, {
    escalator,
  })
  const users = changingUsers()
  const metrics = parts.createMetrics(role)
  const security = parts.createSecurity(settings, users)
  scope.after(async () => {
    stopping.abort()
    await discovery.stop()
    client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    settings,
    logger,
    clock: systemClock,
    simulatedClock: undefined,
    database,
    coordination: database,
    discovery,
    client,
    escalator,
    stores: tlsStores,
    readiness: createReadiness(),
    metrics,
    faults: parts.noFaults,
    node: () => node,
    users: () => users,
    stopping: stopping.signal,
    port,
    serve: async ({ routes, fallback }) => {
      handler = parts.createApplication({
        routes,
        security,
        log: logger,
        metrics,
        ...(fallback ? { fallback } : {}),
      })
      await discovery.announce(node)
      await discovery.refresh()
    },
    replaceUsers: users.replace,
    beginToStop: () => stopping.abort(),
  }
}

const nodeAt = (port: number, role: Role, service: string) => ({
  name: `127.0.0.1:${port}`,
  role,
  service,
  host: '127.0.0.1',
  plaintextPort: port,
  tlsPort: null,
  details: {},
})

function changingUsers() {
  let current: UsersAndRoles = { version: 0, authenticators: {}, authorizers: {} }
  const callbacks = new Set<() => void>()
  return {
    current: () => current,
    loaded: Promise.resolve(),
    onChange: (callback: () => void) => {
      callbacks.add(callback)
      return () => callbacks.delete(callback)
    },
    refresh: async () => undefined,
    stop: async () => undefined,
    replace: (next: UsersAndRoles) => {
      current = next
      for (const callback of callbacks) callback()
    },
  }
}
