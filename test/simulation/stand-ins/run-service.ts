/**
 * Stands in for the life cycle of a server. Instead of running a server, `runService` remembers how to build the role, and
 * `startServer` builds it in the running simulated process.
 */
import { describeError } from '@svc/domain/failure'
import type { Role } from '@svc/shared/config'
import { createSecurity } from '@svc/shared/security'
import type { ServiceContext, ServicePart } from '@svc/shared/service'
import { testSettings } from '@svc/shared/testing'
import type { ServiceOptions } from '../../../packages/shared/src/service/context.ts'
import { createContext, type StartedParts } from '../../../packages/shared/src/service/create-context.ts'
import { createWork } from '../../../packages/shared/src/service/server-work.ts'
import { startService } from '../../../packages/shared/src/service/start-service.ts'
import { environmentOf, runningProcess } from '../environment.ts'
import { serveRequests } from './http/connections.ts'
import { createHandler } from './http/handler.ts'

interface RoleDefinition {
  readonly options: ServiceOptions
  build(context: ServiceContext): ServicePart
}

const roles = new Map<Role, RoleDefinition>()

/** Remembers how to build a role. */
export async function runService(
  role: Role,
  options: ServiceOptions,
  build: (context: ServiceContext) => ServicePart,
): Promise<void> {
  roles.set(role, { options, build })
}

/** A server in a simulated process. */
export interface SimulatedServer {
  readonly context: ServiceContext
  readonly part: ServicePart
}

/** Starts a server in the running process. Its start continues after this returns. */
export function startServer(
  role: Role,
  properties: Readonly<Record<string, string>>,
  onUnexpected: (error: unknown) => void,
): SimulatedServer {
  const process = runningProcess()
  const { options, build } = roles.get(role)!
  const settings = settingsOf(role, properties)
  const configuration = {
    settings,
    listRoutes: false,
    tlsStores: { server: undefined, client: {} },
    reread: () => settings,
  }
  const started: StartedParts = {}
  const stopping = new AbortController()
  const { context: lasting, name } = createContext(
    role,
    configuration,
    options.connections,
    started,
    stopping.signal,
  )
  const work = createWork(lasting, started, build)
  const { context, part } = work
  const [host, port] = [settings.get('svc.host'), settings.get('svc.plaintextPort')]
  const security = createSecurity(settings, { current: () => started.users!.current() })
  const handler = createHandler({
    ...part,
    security,
    onUnexpected: ({ method, path }, error) =>
      context.logger.error('Request failed', { method, path, error: describeError(error) }),
    onAnswered: ({ caller }, path, body, answer) =>
      environmentOf(process).observeAnswer({ process, caller, path, body, answer }),
  })
  serveRequests(process, handler)
  started.node = {
    name: `${host}:${port}`,
    role,
    service: settings.get('svc.service'),
    host,
    plaintextPort: port,
    tlsPort: null,
    details: part.details ?? {},
  }
  startService(stopping.signal, work, options, [], name).catch(onUnexpected)
  return { context, part }
}

const known = new Map<string, ReturnType<typeof testSettings>>()

/** Returns the settings of a server. They never change, so each is read once. */
function settingsOf(role: Role, properties: Readonly<Record<string, string>>) {
  const key = JSON.stringify([role, properties])
  let settings = known.get(key)
  if (settings === undefined) {
    settings = testSettings(role, properties)
    known.set(key, settings)
  }
  return settings
}
