import { type CallJournal, createCallJournal, createServiceClient } from '../client/index.ts'
import { createSimulatedClock } from '../clock/index.ts'
import type { Role, Settings } from '../config/index.ts'
import { startDiscovery } from '../discovery/index.ts'
import { type Faults, followFaults, noFaults } from '../faults/index.ts'
import { createRefusals, type Refusals } from '../http/index.ts'
import { createMetrics } from '../metrics/index.ts'
import { type AnnouncedNode, createDatabase, type Database, shareConnections } from '../postgres/index.ts'
import { createReadiness, type Logger, systemClock } from '../runtime/index.ts'
import { createEscalator } from '../security/index.ts'
import { followStores } from '../tls/index.ts'
import type { FollowedUsers } from '../users/index.ts'
import { type Configuration, configuredName } from './configuration.ts'
import type { ServiceContext } from './context.ts'
import { createLogger } from './create-logger.ts'
import { createRefusalNotices } from './refusal-notices.ts'
import { registerServerMetrics } from './server-metrics.ts'

/** What becomes known while a server starts. */
export interface StartedParts {
  /** Set once the ports are open. */
  node?: AnnouncedNode
  /** Set once users and roles are followed. A reset of the cluster removes it for a while. */
  users?: FollowedUsers | undefined
}

/** The part of the context that lasts as long as the process: connections, and what does not depend on the cluster's state. */
export type LastingContext = Omit<ServiceContext, 'clock' | 'metrics' | 'simulatedClock' | 'users'>

/** The context of a server, and what records its calls. */
export interface CreatedContext {
  readonly context: LastingContext
  readonly journal: CallJournal
  readonly refusals: Refusals
  /** Returns the role and name of this server, for the logs of other servers. */
  name(): string
}

// Number of calls per direction that the journal keeps.
const rememberedCalls = 500

/** Creates the context of a server. Opens connections, but no ports. */
export function createContext(
  role: Role,
  { settings, tlsStores, reread }: Configuration,
  maxConnections: number,
  started: StartedParts,
  stopping: AbortSignal,
): CreatedContext {
  const logger = createLogger(settings, configuredName(settings))
  const readiness = createReadiness()
  const stores = followStores(settings, tlsStores, logger, (text) => readiness.setProblem('stores', text))
  const { database, coordination } = openDatabases(settings, maxConnections)
  const discovery = startDiscovery(coordination, settings, logger)
  const journal = createCallJournal(rememberedCalls)
  const escalator = createEscalator(settings, reread)
  const name = () => `${role} ${started.node?.name ?? ''}`
  const faults = openFaults(settings, coordination, logger, started)
  const context: LastingContext = {
    settings,
    logger,
    database,
    coordination,
    discovery,
    client: createServiceClient(settings, name, discovery, stores, {
      escalator,
      journal,
      applyFaults: faults.applyToCall,
    }),
    escalator,
    stores,
    readiness,
    faults,
    node: () => {
      if (!started.node) throw new Error('The ports are not open yet')
      return started.node
    },
    stopping,
  }
  return { context, journal, refusals: createRefusals(createRefusalNotices(database)), name }
}

/** Returns the context of the work of a server, which ends when the server stops or the cluster is reset. */
export function createWorkContext(
  lasting: LastingContext,
  started: StartedParts,
  ending: AbortSignal,
): ServiceContext {
  const { settings, logger, readiness, stores, stopping } = lasting
  const database = shareConnections(lasting.database)
  const simulatedClock = settings.get('svc.simulation.clock.enabled')
    ? createSimulatedClock(database, logger)
    : undefined
  const metrics = createMetrics(settings.role)
  registerServerMetrics(metrics, readiness, stores)
  return {
    ...lasting,
    database,
    clock: simulatedClock ?? systemClock,
    simulatedClock,
    metrics,
    users: () => {
      if (!started.users) throw new Error('Users and roles have not been loaded yet')
      return started.users
    },
    stopping: AbortSignal.any([stopping, ending]),
  }
}

function openDatabases(settings: Settings, maxConnections: number) {
  const service = settings.get('svc.service')
  return {
    database: createDatabase(settings, { connections: maxConnections, applicationName: service }),
    // Separate from the pool for requests, so that leases and heartbeats do not depend on its load.
    coordination: createDatabase(settings, { connections: 2, applicationName: `${service} coordination` }),
  }
}

function openFaults(
  settings: Settings,
  coordination: Database,
  logger: Logger,
  started: StartedParts,
): Faults {
  if (!settings.get('svc.simulation.enabled')) return noFaults
  return followFaults(
    coordination,
    logger,
    () => started.node,
    () => process.kill(process.pid, 'SIGKILL'),
  )
}
