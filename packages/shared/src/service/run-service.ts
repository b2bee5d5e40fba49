import { flushCompileCache } from 'node:module'
import { type Role, settingsNotices } from '../config/index.ts'
import { noFaults } from '../faults/index.ts'
import {
  type ApplicationOptions,
  createApplication,
  createRequestGate,
  describeEndpoint,
  type Route,
} from '../http/index.ts'
import { openLoginThrottle } from '../login-throttle/index.ts'
import { collectIdleGarbage, limitHeapGrowth, systemClock } from '../runtime/index.ts'
import type { Security } from '../security/index.ts'
import { type SecurityAudit, startSecurityAudit } from '../security-audit/index.ts'
import { callRoutes } from './call-routes.ts'
import { type Configuration, readConfiguration } from './configuration.ts'
import type { ServiceContext, ServiceOptions, ServicePart } from './context.ts'
import { type CreatedContext, createContext, type StartedParts } from './create-context.ts'
import { describeNode, openPorts } from './open-ports.ts'
import { callerAddressOf, openSecurity } from './open-security.ts'
import { refusalRoutes } from './refusal-routes.ts'
import { resetPath, resetRoute } from './reset.ts'
import { createReset } from './reset-server.ts'
import { createWork, type ServerWork } from './server-work.ts'
import { startService } from './start-service.ts'
import { statusRoutes } from './status-routes.ts'
import { stopOnSignals, type Watch } from './stop-service.ts'

/**
 * When compiled code is stored for later starts: Node.js would do it when the server exits, but by then, V8 has discarded the
 * code that only a start needs.
 */
const compiledAfterMs = 5000

/** Runs a server until it is stopped. This is the only function that the `main.ts` of a service calls. */
export async function runService(
  role: Role,
  options: ServiceOptions,
  build: (context: ServiceContext) => ServicePart,
): Promise<void> {
  const configuration = await readConfiguration(role)
  const stopping = new AbortController()
  const started: StartedParts = {}
  const created = createContext(role, configuration, options.connections, started, stopping.signal)
  const { context, name } = created
  const renewWork = (): ServerWork => {
    work = createWork(context, started, build)
    return work
  }
  let work = createWork(context, started, build)
  let reset: () => Promise<void> = async () => undefined
  const routes = (): Route[] => routesOf(created, work, () => reset())
  await announceSettings(configuration, created, routes())
  const audit = startSecurityAudit(context.database, systemClock, context.logger, {
    server: () => started.node?.name ?? role,
    internalUser: configuration.settings.get('svc.escalator.internalClientUsername'),
  })
  const throttle = openLoginThrottle(configuration.settings, () => performance.now())
  const security = await openSecurity(context, audit, throttle, {
    current: () => started.users?.current() ?? { missing: 'The server is starting' },
  })
  const gate = createRequestGate(resetPath)
  const openGate = (): void =>
    gate.open(createApplication(applicationOf(created, work, routes(), security, audit)))
  reset = createReset({ ...created, started, gate, audit, throttle, work: () => work, renewWork, openGate })
  openGate()
  const listeners = await openPorts(context, () => work.context.metrics, gate.handle, created.refusals)
  started.node = describeNode(configuration.settings, listeners, work.part.details ?? {})
  const watches: Watch[] = [collectIdleGarbage()]
  stopOnSignals({ context, stopping, work: () => work, listeners, audit, throttle, watches })
  await startService(stopping.signal, work, options, watches, name)
  limitHeapGrowth()
  setTimeout(flushCompileCache, compiledAfterMs).unref()
}

function routesOf(
  { context: { settings }, journal, refusals }: CreatedContext,
  { context, part }: ServerWork,
  reset: () => Promise<void>,
): Route[] {
  return [
    ...statusRoutes(context),
    ...callRoutes(journal),
    ...refusalRoutes(refusals),
    resetRoute(settings, reset),
    ...part.routes,
  ]
}

/** Logs what is notable about the properties. With the option `--routes`, prints the endpoints and exits. */
async function announceSettings(
  { listRoutes, settings }: Configuration,
  { context }: CreatedContext,
  routes: readonly Route[],
): Promise<void> {
  if (listRoutes) await printRoutes(routes)
  for (const notice of settingsNotices(settings)) context.logger.warn(notice)
}

/** Prints the endpoints, and exits. */
async function printRoutes(routes: readonly Route[]): Promise<never> {
  // Wait until a pipe has taken everything: an early exit would cut off the output.
  const text = `${JSON.stringify(routes.map(describeEndpoint))}\n`
  await new Promise((resolve) => process.stdout.write(text, resolve))
  process.exit(0)
}

function applicationOf(
  { context: lasting, journal, refusals, name }: CreatedContext,
  { context, part }: ServerWork,
  routes: readonly Route[],
  security: Security,
  audit: SecurityAudit,
): ApplicationOptions {
  const { settings, logger, escalator, faults } = lasting
  const { fallback, servePage } = part
  return {
    routes,
    calls: { journal, name, user: escalator.identity },
    security,
    log: logger,
    metrics: context.metrics,
    aliases: settings.get('svc.api.aliases'),
    callerAddress: callerAddressOf(lasting),
    onForbidden: audit.forbidden,
    onRefused: refusals.addRequest,
    ...(faults === noFaults ? {} : { applyFaults: faults.applyFaults }),
    ...(fallback ? { fallback } : {}),
    ...(servePage ? { servePage } : {}),
  }
}
