import { type Role, type Settings, settingsNotices } from '../config/index.ts'
import { noFaults } from '../faults/index.ts'
import { type ApplicationOptions, describeEndpoint, type Route } from '../http/index.ts'
import { openLoginThrottle } from '../login-throttle/index.ts'
import { systemClock } from '../runtime/index.ts'
import type { Security } from '../security/index.ts'
import { callRoutes } from './call-routes.ts'
import { readConfiguration } from './configuration.ts'
import type { ServiceContext, ServiceOptions, ServicePart } from './context.ts'
import { type CreatedContext, createContext, type StartedParts } from './create-context.ts'
import { describeNode, openPorts } from './open-ports.ts'
import { callerAddressOf, openSecurity } from './open-security.ts'
import { refusalRoutes } from './refusal-routes.ts'
import { restartEmpty, restartRoute } from './restart.ts'
import { type SecurityAudit, startSecurityAudit } from './security-audit.ts'
import { startService } from './start-service.ts'
import { statusRoutes } from './status-routes.ts'
import { createServerProcess, type ServerProcess, type Watch } from './stop-service.ts'

/** Runs a server until it is stopped. This is the only function that the `main.ts` of a service calls. */
export async function runService(
  role: Role,
  options: ServiceOptions,
  build: (context: ServiceContext) => ServicePart,
): Promise<void> {
  await runServer({ role, options, build, process: createServerProcess() })
}

/** How to run a server. */
interface ServerStart {
  readonly role: Role
  readonly options: ServiceOptions
  readonly build: (context: ServiceContext) => ServicePart
  readonly process: ServerProcess
}

async function runServer(start: ServerStart): Promise<void> {
  const { role, options, build } = start
  const configuration = await readConfiguration(role)
  const { settings } = configuration
  const stopping = new AbortController()
  const started: StartedParts = {}
  const watches: Watch[] = []
  const created = createContext(role, configuration, options.connections, started, stopping.signal)
  const { context, journal, refusals, name } = created
  const part = build(context)
  const routes = [
    ...statusRoutes(context),
    ...callRoutes(journal),
    ...refusalRoutes(refusals),
    restartRoute(settings, () => restart(start, settings)),
    ...part.routes,
  ]
  if (configuration.listRoutes) await printRoutes(routes)
  for (const notice of settingsNotices(settings)) context.logger.warn(notice)
  const audit = startSecurityAudit(context.database, systemClock, context.logger, {
    server: () => started.node?.name ?? role,
    internalUser: settings.get('svc.escalator.internalClientUsername'),
  })
  const throttle = openLoginThrottle(settings, () => performance.now())
  const security = await openSecurity(context, audit, throttle, {
    current: () => started.directory?.current() ?? { missing: 'The server is starting' },
  })
  const listeners = await openPorts(context, applicationOf(created, routes, part, security, audit), refusals)
  started.node = describeNode(settings, listeners, part.details ?? {})
  start.process.run({ context, stopping, part, listeners, audit, throttle, started, watches })
  await startService(context, part, options, started, watches, name)
}

/** Stops the server and starts it again in this process, where nothing of its state in memory is left. */
async function restart(start: ServerStart, settings: Settings): Promise<void> {
  if (!(await start.process.stopServer())) return
  await restartEmpty(settings)
  if (!start.process.isEnding()) await runServer(start)
}

/** Prints the endpoints, and exits. */
async function printRoutes(routes: readonly Route[]): Promise<never> {
  // Wait until a pipe has taken everything: an early exit would cut off the output.
  const text = `${JSON.stringify(routes.map(describeEndpoint))}\n`
  await new Promise((resolve) => process.stdout.write(text, resolve))
  process.exit(0)
}

function applicationOf(
  { context, journal, refusals, name }: CreatedContext,
  routes: readonly Route[],
  { fallback, servePage }: ServicePart,
  security: Security,
  audit: SecurityAudit,
): ApplicationOptions {
  const { settings, logger, metrics, escalator, faults } = context
  return {
    routes,
    calls: { journal, name, user: escalator.identity },
    security,
    log: logger,
    metrics,
    aliases: settings.get('svc.api.aliases'),
    callerAddress: callerAddressOf(context),
    onForbidden: audit.forbidden,
    onRefused: (refusal) => refusals.requests.add(refusal),
    ...(faults === noFaults ? {} : { applyFaults: faults.applyFaults }),
    ...(fallback ? { fallback } : {}),
    ...(servePage ? { servePage } : {}),
  }
}
