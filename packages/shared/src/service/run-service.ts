import type { IncomingMessage } from 'node:http'
import { describeError, Failure } from '@svc/domain/failure'
import { createCallJournal } from '../calls/index.ts'
import { createServiceClient } from '../client/index.ts'
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
import { configuredName, endPlainly, readConfiguration } from './configuration.ts'
import type { ServiceContext, ServiceOptions, ServicePart } from './context.ts'
import {
  type FollowedDirectory,
  followCoordinatorDirectory,
  followStoredDirectory,
  openDirectory,
} from './directory-source.ts'
import { type OwnCertificate, watchOwnCertificate } from './own-certificate.ts'
import { retryWhileStoreIsAway } from './retry-while-store-is-away.ts'
import { type SecurityAudit, startSecurityAudit } from './security-audit.ts'
import { logTroubles, tellTroubles } from './server-troubles.ts'
import { statusRoutes } from './status-routes.ts'
import { watchServer } from './watch-server.ts'

// A stop that takes longer is ended; users are promised ten seconds.
const longestStopMs = 9000
const requestGraceMs = 5000

// Calls of each direction that the journal of a server keeps.
const rememberedCalls = 500

/** Runs a server until it is told to stop; the only function that a service's main calls. */
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
  // Apart from the pool of requests: however busy that is, leases are renewed and heartbeats go out.
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
    // A pipe takes it piece by piece; an exit before the last would cut it off.
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
    ...(faults === noFaults ? {} : { strike: faults.strikeRequest }),
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
      logger.warn('Stopping took too long; what was under way is given up')
      process.exit(status)
    }, longestStopMs).unref()
    stopping.abort()
    await Promise.all([certificate, ...troubleLoops].map((watch) => watch?.stop()))
    await discovery.stop()
    // No new connection from here on; requests under way go on while the work is ended or handed over.
    const closed = listeners.close(requestGraceMs)
    await part
      .stop()
      .catch((error) => logger.error('Part of the server did not stop well', { error: describeError(error) }))
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
    logger.error('The server failed and stops', {
      error: describeError(error),
      stack: (error as Error)?.stack,
    })
    stop('failure', 1)
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)

  await waitForSchema(context)
  // A store that is just being made may go away once more after it has answered.
  const storeWaits = { logger, stopping: stopping.signal }
  await simulatedClock?.start()
  troubleLoops.push(tellTroubles(coordination, announcedNode, readiness))
  if (role === 'coordinator') troubleLoops.push(logTroubles(coordination, logger, name))
  try {
    await retryWhileStoreIsAway(async () => options.prepareStore?.(context), storeWaits)
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalidInput') endPlainly(error.message)
    throw error
  }
  const announcement = createAnnouncement(discovery, readiness, node, storeWaits)
  certificate = watchOwnCertificate(node(), stores, readiness, logger, announcement.reachableChanged)
  await certificate.holds
  if (isStopping) return
  directory = await retryWhileStoreIsAway(() => followDirectory(context), storeWaits)
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
    return endPlainly(describeError(error))
  }
}

/** Who callers are, with all that it takes: directories, counters of failures, the audit. */
async function openSecurity(
  { settings, database, escalator, logger }: ServiceContext,
  audit: SecurityAudit,
  throttle: SharedThrottle | undefined,
  directory: DirectorySource,
): Promise<Security> {
  const tellRefused = refusedLoginLog(logger, settings.get('svc.escalator.internalClientUsername'))
  const trouble = createTroubleLog(logger)
  try {
    return createSecurity(settings, directory, {
      onRefused: (user, origin, reason, knownAs) => {
        tellRefused(user, origin, reason)
        audit.loginFailed(user, origin, knownAs)
      },
      escalator,
      onLogin: audit.loggedIn,
      onUse: audit.used,
      onOutdated: async (authenticator, user, outdated, renewed) => {
        await renewCredentials(database, authenticator, user, outdated, renewed)
        logger.info('A password was hashed again with the parameters of today', { authenticator, user })
      },
      ...(throttle ? { throttle } : {}),
      directories: await openLdapLogins(settings, () => performance.now(), trouble.tell),
    })
  } catch (error) {
    return endPlainly(describeError(error))
  }
}

/** Reads the addresses of callers that the router hands on, and logs headers that are not valid. */
function callerAddressOf({ escalator, node, logger }: ServiceContext) {
  const read = createAddressReader(escalator, () => baseUrlOf(node()), systemClock.now)
  const trouble = createTroubleLog(logger)
  return (request: IncomingMessage): string | undefined => {
    const header = request.headers[callerAddressHeader]
    if (header === undefined) return undefined
    const { method = '', url: path = '', headers } = request
    const result = read(String(header), { method, path, authorization: headers.authorization })
    if (result.kind === 'valid') return result.address
    trouble.tell(`Ignored the address of a caller that was handed on: ${result.reason}`, {
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

/** Waits for the metadata store; the coordinator brings its schema up to date, the others wait for that. */
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
      readiness.setTrouble('store', 'The metadata store waits for a coordinator to make its tables')
    } catch (error) {
      readiness.setTrouble('store', 'The metadata store cannot be used; see the log of this server')
      if (attempt > 80)
        trouble.tell('The metadata store cannot be used', {
          error: describeError(error),
          cause: describeError((error as Error).cause ?? ''),
        })
    }
    // Short at first, as all processes of a cluster start at once; later it would only be a burden.
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

/** Tells clients that were refused for their certificates, the same again only at growing distances. */
function refusedClientLog(logger: Logger) {
  const troubles = new Map<string, ReturnType<typeof createTroubleLog>>()
  return (address: string, reason: string): void => {
    if (troubles.size > 1000) troubles.clear()
    const trouble = troubles.get(address) ?? createTroubleLog(logger)
    troubles.set(address, trouble)
    trouble.tell(`A client at [${address}] was refused: ${reason}`)
  }
}

// Servers of a cluster, and more than it has.
const mostRefusedServers = 1000

/** Tells refused logins, those of servers of the cluster by name; the same one again only at growing distances. */
function refusedLoginLog(logger: Logger, internalUser: string) {
  const troubles = new Map<string, ReturnType<typeof createTroubleLog>>()
  return (user: string, origin: LoginOrigin, reason: RefusalReason): void => {
    const { address } = origin
    // Anyone may say to be a server: only with the servers' user is it worth a line, and only so many of them.
    const isServer = origin.server !== '' && user === internalUser
    const isKnown = troubles.has(origin.server) || troubles.size < mostRefusedServers
    const server = isServer && isKnown ? origin.server : ''
    const trouble = troubles.get(server) ?? createTroubleLog(logger)
    troubles.set(server, trouble)
    const cause =
      reason === 'network'
        ? '[svc.auth.internalClientAllowedNetworks] of this server does not have that address'
        : `its escalator's user [${user}] or password is wrong there; correct [svc.escalator.internalClientPassword] of that server`
    trouble.tell(
      server === '' ? 'A login was refused' : `Server [${server}] at [${address}] was refused: ${cause}`,
      { user, address, ...(server === '' ? {} : { from: server }) },
    )
  }
}
