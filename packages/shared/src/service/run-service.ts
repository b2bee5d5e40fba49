import type { IncomingMessage } from 'node:http'
import { describeError, Failure } from '@svc/domain/failure'
import { createCallJournal, createServiceClient } from '../client/index.ts'
import { createSimulatedClock } from '../clock/index.ts'
import { type Role, type Settings, settingsNotices } from '../config/index.ts'
import { baseUrlOf, startDiscovery } from '../discovery/index.ts'
import { followFaults, noFaults } from '../faults/index.ts'
import {
  type ApplicationOptions,
  createApplication,
  describeEndpoint,
  type Listeners,
  listen,
} from '../http/index.ts'
import { openLoginThrottle, type SharedThrottle } from '../login-throttle/index.ts'
import { createMetrics } from '../metrics/index.ts'
import {
  type AnnouncedNode,
  createDatabase,
  isSchemaCurrent,
  migrateSchema,
  renewCredentials,
} from '../postgres/index.ts'
import {
  createLogger,
  createReadiness,
  createTroubleLog,
  type Logger,
  type Loop,
  systemClock,
} from '../runtime/index.ts'
import {
  callerAddressHeader,
  createAddressReader,
  createEscalator,
  createSecurity,
  type DirectorySource,
  type LoginOrigin,
  openLdapLogins,
  type RefusalReason,
  type Security,
} from '../security/index.ts'
import { type FollowedStores, followStores } from '../tls/index.ts'
import { createAnnouncement } from './announcement.ts'
import { callRoutes } from './call-routes.ts'
import { configuredName, exitWithMessage, readConfiguration } from './configuration.ts'
import type { ServiceContext, ServiceOptions, ServicePart } from './context.ts'
import {
  type FollowedDirectory,
  followCoordinatorDirectory,
  followStoredDirectory,
  openDirectory,
} from './directory-source.ts'
import { type OwnCertificate, watchOwnCertificate } from './own-certificate.ts'
import { retryWhileStoreIsUnavailable } from './retry-while-store-is-unavailable.ts'
import { type SecurityAudit, startSecurityAudit } from './security-audit.ts'
import { logTroubles, saveTroubles } from './server-troubles.ts'
import { statusRoutes } from './status-routes.ts'
import { watchServer } from './watch-server.ts'

// Max time to stop; users are promised ten seconds.
const maxStopMs = 9000
const requestGraceMs = 5000

// Number of calls per direction that the journal keeps.
const rememberedCalls = 500

/** Runs a server until it is stopped. This is the only function that the `main.ts` of a service calls. */
export async function runService(
  role: Role,
  options: ServiceOptions,
  build: (context: ServiceContext) => ServicePart,
): Promise<void> {
  const { settings, listRoutes, tlsStores, reread } = await readConfiguration(role)
  const stopping = new AbortController()
  let announcedNode: AnnouncedNode | undefined
  let directory: FollowedDirectory | undefined
  const logger = createLogger(settings, configuredName(settings))
  const readiness = createReadiness()
  const stores = followStores(settings, tlsStores, logger, (text) => readiness.setTrouble('stores', text))
  const database = createDatabase(settings, {
    connections: options.connections,
    applicationName: settings.get('svc.service'),
  })
  // Separate from the pool for requests, so that leases and heartbeats do not depend on its load.
  const coordination = createDatabase(settings, {
    connections: 2,
    applicationName: `${settings.get('svc.service')} coordination`,
  })
  const simulatedClock = settings.get('svc.simulation.clock.enabled')
    ? createSimulatedClock(database, logger)
    : undefined
  const discovery = startDiscovery(coordination, settings, logger)
  const node = (): AnnouncedNode => {
    if (!announcedNode) throw new Error('The ports are not open yet')
    return announcedNode
  }
  const journal = createCallJournal(rememberedCalls)
  const escalator = createEscalator(settings, reread)
  const name = () => `${role} ${announcedNode?.name ?? ''}`
  const faults = settings.get('svc.simulation.enabled')
    ? followFaults(
        coordination,
        logger,
        () => announcedNode,
        () => process.kill(process.pid, 'SIGKILL'),
      )
    : noFaults
  const cuts = (path: string) => faults.cutsCall(path)
  const client = createServiceClient(settings, name, discovery, stores, { escalator, journal, cuts })
  const context: ServiceContext = {
    settings,
    logger,
    clock: simulatedClock ?? systemClock,
    simulatedClock,
    database,
    coordination,
    discovery,
    client,
    escalator,
    stores,
    readiness,
    metrics: createMetrics(role),
    faults,
    node,
    directory: () => {
      if (!directory) throw new Error('Users and roles are not followed yet')
      return directory
    },
    stopping: stopping.signal,
  }
  watchServer(context.metrics, readiness, stores)
  const part = build(context)
  const routes = [...statusRoutes(context), ...callRoutes(journal), ...part.routes]
  if (listRoutes) {
    // Wait until a pipe has taken everything: an early exit would cut off the output.
    const text = `${JSON.stringify(routes.map(describeEndpoint))}\n`
    await new Promise((resolve) => process.stdout.write(text, resolve))
    process.exit(0)
  }
  for (const notice of settingsNotices(settings)) logger.warn(notice)
  const audit = startSecurityAudit(database, systemClock, logger, {
    server: () => announcedNode?.name ?? role,
    internalUser: settings.get('svc.escalator.internalClientUsername'),
  })
  const throttle = openLoginThrottle(settings, () => performance.now())
  const security = await openSecurity(context, audit, throttle, {
    current: () => directory?.current() ?? { missing: 'The server is starting' },
  })
  const application: ApplicationOptions = {
    routes,
    calls: { journal, name, user: escalator.identity },
    security,
    log: logger,
    metrics: context.metrics,
    aliases: settings.get('svc.api.aliases'),
    callerAddress: callerAddressOf(context),
    onForbidden: audit.forbidden,
    ...(faults === noFaults ? {} : { applyFaults: faults.applyFaults }),
    ...(part.fallback ? { fallback: part.fallback } : {}),
  }
  const listeners = await openPorts(context, application, stores)
  announcedNode = describeNode(settings, listeners, part.details ?? {})
  const troubleLoops: Loop[] = []
  let certificate: OwnCertificate | undefined

  let isStopping = false
  const stop = async (signal: string, status: number): Promise<void> => {
    if (isStopping) return
    isStopping = true
    logger.info('Stopping', { signal })
    setTimeout(() => {
      logger.warn('Stopping took too long; exiting with work in progress')
      process.exit(status)
    }, maxStopMs).unref()
    stopping.abort()
    await Promise.all([certificate, ...troubleLoops].map((watch) => watch?.stop()))
    await discovery.stop()
    // No new connections from here on. Requests in progress continue while the work is finished or handed over.
    const closed = listeners.close(requestGraceMs)
    await part
      .stop()
      .catch((error) => logger.error('Failed to stop cleanly', { error: describeError(error) }))
    await closed
    await directory?.stop()
    await audit.stop()
    throttle?.stop()
    await stores.stop()
    await simulatedClock?.stop()
    await faults.stop()
    client.close()
    await Promise.all([database.close(), coordination.close()]).catch(() => undefined)
    logger.info('Stopped')
    process.exit(status)
  }
  process.once('SIGTERM', () => stop('SIGTERM', 0))
  process.once('SIGINT', () => stop('SIGINT', 0))
  const crash = (error: unknown) => {
    logger.error('Stopping after an unexpected error', {
      error: describeError(error),
      stack: (error as Error)?.stack,
    })
    stop('failure', 1)
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)

  await waitForSchema(context)
  // A store that is still being set up may become unavailable again after its first response.
  const storeWaits = { logger, stopping: stopping.signal }
  await simulatedClock?.start()
  troubleLoops.push(saveTroubles(coordination, announcedNode, readiness))
  if (role === 'coordinator') troubleLoops.push(logTroubles(coordination, logger, name))
  try {
    await retryWhileStoreIsUnavailable(async () => options.prepareStore?.(context), storeWaits)
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalidInput') exitWithMessage(error.message)
    throw error
  }
  const announcement = createAnnouncement(discovery, readiness, node, storeWaits)
  certificate = watchOwnCertificate(node(), stores, readiness, logger, announcement.reachableChanged)
  await certificate.holds
  if (isStopping) return
  directory = await retryWhileStoreIsUnavailable(() => followDirectory(context), storeWaits)
  await directory.loaded
  if (isStopping) return
  await part.start()
  if (isStopping) return
  await announcement.begin()
  await discovery.refresh()
  readiness.markReady()
  logger.info('Ready', { startedInMs: Math.round(performance.now()) })
}

async function openPorts(
  { settings, logger: log }: ServiceContext,
  application: ApplicationOptions,
  stores: FollowedStores,
): Promise<Listeners> {
  try {
    return await listen(settings, createApplication(application), stores, {
      onRefusedClient: refusedClientLog(log),
    })
  } catch (error) {
    return exitWithMessage(describeError(error))
  }
}

/** Creates security with LDAP directories, the login throttle, and the audit log. */
async function openSecurity(
  { settings, database, escalator, logger }: ServiceContext,
  audit: SecurityAudit,
  throttle: SharedThrottle | undefined,
  directory: DirectorySource,
): Promise<Security> {
  const logRefused = refusedLoginLog(logger, settings.get('svc.escalator.internalClientUsername'))
  const trouble = createTroubleLog(logger)
  try {
    return createSecurity(settings, directory, {
      onRefused: (user, origin, reason, knownAs) => {
        logRefused(user, origin, reason)
        audit.loginFailed(user, origin, knownAs, { isThrottled: reason === 'throttle' })
      },
      escalator,
      onLogin: audit.loggedIn,
      onUse: audit.used,
      onOutdated: async (authenticator, user, outdated, renewed) => {
        await renewCredentials(database, authenticator, user, outdated, renewed)
        logger.info('Rehashed a password with the current parameters', { authenticator, user })
      },
      ...(throttle ? { throttle } : {}),
      directories: await openLdapLogins(settings, () => performance.now(), trouble.report),
    })
  } catch (error) {
    return exitWithMessage(describeError(error))
  }
}

/** Returns a function that reads the caller address forwarded by the router, and logs invalid headers. */
function callerAddressOf({ escalator, node, logger }: ServiceContext) {
  const read = createAddressReader(escalator, () => baseUrlOf(node()), systemClock.now)
  const trouble = createTroubleLog(logger)
  return (request: IncomingMessage): string | undefined => {
    const header = request.headers[callerAddressHeader]
    if (header === undefined) return undefined
    const { method = '', url: path = '', headers } = request
    const result = read(String(header), { method, path, authorization: headers.authorization })
    if (result.kind === 'valid') return result.address
    trouble.report(`Ignored a forwarded caller address: ${result.reason}`, {
      peer: request.socket.remoteAddress,
    })
    return undefined
  }
}

function describeNode(
  settings: Settings,
  listeners: Listeners,
  details: AnnouncedNode['details'],
): AnnouncedNode {
  const host = settings.get('svc.host')
  return {
    name: `${host}:${listeners.tlsPort ?? listeners.plaintextPort}`,
    role: settings.role,
    service: settings.get('svc.service'),
    host,
    plaintextPort: listeners.plaintextPort ?? null,
    tlsPort: listeners.tlsPort ?? null,
    details,
  }
}

/** Waits for the metadata store. The coordinator creates or migrates its tables; the other servers wait for that. */
async function waitForSchema({
  settings,
  database,
  logger,
  readiness,
  stopping,
}: ServiceContext): Promise<void> {
  const trouble = createTroubleLog(logger)
  for (let attempt = 0; !stopping.aborted; attempt++) {
    try {
      if (settings.role === 'coordinator') await migrateSchema(database)
      if (await isSchemaCurrent(database)) {
        readiness.setTrouble('store', undefined)
        return
      }
      readiness.setTrouble('store', 'Waiting for a coordinator to create the metadata tables')
    } catch (error) {
      readiness.setTrouble('store', 'Cannot use the metadata store; see the log of this server')
      if (attempt > 80)
        trouble.report('Cannot use the metadata store', {
          error: describeError(error),
          cause: describeError((error as Error).cause ?? ''),
        })
    }
    // Short at first, because all processes of a cluster start at once; later, slower to reduce load.
    await new Promise((resolve) => setTimeout(resolve, attempt < 80 ? 25 : 1000))
  }
}

async function followDirectory({
  settings,
  database,
  client,
  readiness,
  logger,
}: ServiceContext): Promise<FollowedDirectory> {
  const needsLogin = settings
    .get('svc.auth.authenticatorChain')
    .some((name) => settings.getNamed('svc.auth.authenticator.<name>.type', name) === 'basic')
  if (!needsLogin) return openDirectory()
  if (settings.role === 'coordinator') return await followStoredDirectory(database, logger)
  return followCoordinatorDirectory(client, settings, readiness, logger)
}

/**
 * Logs clients that were rejected because of their certificates; repeats the same rejection only at growing intervals.
 */
function refusedClientLog(logger: Logger) {
  const troubles = new Map<string, ReturnType<typeof createTroubleLog>>()
  return (address: string, reason: string): void => {
    if (troubles.size > 1000) troubles.clear()
    const trouble = troubles.get(address) ?? createTroubleLog(logger)
    troubles.set(address, trouble)
    trouble.report(`Rejected client at [${address}]: ${reason}`)
  }
}

// More servers than any cluster has.
const maxRefusedServers = 1000

/** Logs rejected logins, those of servers by name; repeats the same rejection only at growing intervals. */
function refusedLoginLog(logger: Logger, internalUser: string) {
  const troubles = new Map<string, ReturnType<typeof createTroubleLog>>()
  return (user: string, origin: LoginOrigin, reason: RefusalReason): void => {
    const { address } = origin
    // Anyone may claim to be a server: log the name only for the internal user, and only for a limited number of names.
    const isServer = origin.server !== '' && user === internalUser
    const isKnown = troubles.has(origin.server) || troubles.size < maxRefusedServers
    const server = isServer && isKnown ? origin.server : ''
    const trouble = troubles.get(server) ?? createTroubleLog(logger)
    troubles.set(server, trouble)
    const cause =
      reason === 'network'
        ? '[svc.auth.internalClientAllowedNetworks] of this server does not contain its address'
        : `invalid escalator user [${user}] or password; correct [svc.escalator.internalClientPassword] on that server`
    trouble.report(
      server === '' ? 'Rejected login' : `Rejected server [${server}] at [${address}]: ${cause}`,
      {
        user,
        address,
        ...(server === '' ? {} : { from: server }),
      },
    )
  }
}
