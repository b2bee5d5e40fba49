import type { Request, Response } from 'express'
import type { ServiceClient } from '../client/index.ts'
import type { SimulatedClock } from '../clock/index.ts'
import type { Settings } from '../config/index.ts'
import type { Discovery } from '../discovery/index.ts'
import type { Faults } from '../faults/index.ts'
import type { Route } from '../http/index.ts'
import type { Metrics } from '../metrics/index.ts'
import type { AnnouncedNode, Database } from '../postgres/index.ts'
import type { Clock, Logger, Readiness } from '../runtime/index.ts'
import type { Caller, Escalator } from '../security/index.ts'
import type { FollowedStores } from '../tls/index.ts'
import type { FollowedUsers } from '../users/index.ts'

/** What every role gets when its server is built. */
export interface ServiceContext {
  readonly settings: Settings
  readonly logger: Logger
  /** The time of the cluster. Timeouts, leases, and certificates always use the real time. */
  readonly clock: Clock
  /** The same clock if it is simulated; undefined if it is the real time. */
  readonly simulatedClock: SimulatedClock | undefined
  readonly database: Database
  /** The same store over separate connections, for leases and heartbeats only. */
  readonly coordination: Database
  readonly discovery: Discovery
  readonly client: ServiceClient
  /** The identity of this server in calls to other servers. */
  readonly escalator: Escalator
  /** The current key stores and trust stores. */
  readonly stores: FollowedStores
  readonly readiness: Readiness
  readonly metrics: Metrics
  /** Injected faults that affect this server; only in simulations. */
  readonly faults: Faults
  /** Returns the announcement of this server. Throws until its ports are open. */
  node(): AnnouncedNode
  /** Returns the users and roles. Throws until `start` is called. */
  users(): FollowedUsers
  /** Aborted when the server starts to stop. */
  readonly stopping: AbortSignal
}

/** The part of a server that differs by role. */
export interface ServicePart {
  readonly routes: readonly Route[]
  /** What the role announces in addition to its address. */
  readonly details?: AnnouncedNode['details']
  readonly fallback?: ((request: Request, response: Response, caller: Caller) => Promise<void>) | undefined
  readonly servePage?: ((request: Request, response: Response) => Promise<boolean>) | undefined
  /** Whether requests only pass through, so that those in progress may continue during a reset of the cluster. */
  readonly isOnlyForwarding?: boolean
  /** Starts the work once the metadata store is available. The server is ready when this resolves. */
  start(): Promise<void>
  /** Stops the work: finishes or hands over everything in progress. */
  stop(): Promise<void>
}

/** Options of a role. */
export interface ServiceOptions {
  /** Max connections to the metadata store. */
  readonly connections: number
  /**
   * Creates initial users and default rules before users and roles are read. The server exits on an invalidInput
   * Failure.
   */
  prepareStore?(context: ServiceContext): Promise<void>
}
