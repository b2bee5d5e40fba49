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
import type { FollowedDirectory } from './directory-source.ts'

/** What every server has when it is built. */
export interface ServiceContext {
  readonly settings: Settings
  readonly logger: Logger
  /** The time that the cluster decides by; that of time-outs, leases and certificates is another. */
  readonly clock: Clock
  /** The same clock where it is simulated and can be moved; undefined where it is that of the machine. */
  readonly simulatedClock: SimulatedClock | undefined
  readonly database: Database
  /** The same store through connections of its own, for leases and heartbeats only. */
  readonly coordination: Database
  readonly discovery: Discovery
  readonly client: ServiceClient
  /** The identity of this server among the servers. */
  readonly escalator: Escalator
  /** Key stores and trust stores, as they are now. */
  readonly stores: FollowedStores
  readonly readiness: Readiness
  readonly metrics: Metrics
  /** Faults that were switched on to strike this server; none unless it is a simulation. */
  readonly faults: Faults
  /** This server as it announces itself; known from the moment its ports are open. */
  node(): AnnouncedNode
  /** The followed users and roles; known when `start` is called. */
  directory(): FollowedDirectory
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal
}

/** The part of a server that differs by role. */
export interface ServicePart {
  readonly routes: readonly Route[]
  /** What the role announces beyond its address. */
  readonly details?: AnnouncedNode['details']
  readonly fallback?: ((request: Request, response: Response, caller: Caller) => Promise<void>) | undefined
  /** Begins the work once the metadata store is there; the server is ready when this resolves. */
  start(): Promise<void>
  /** Ends the work: what is under way is finished or handed over. */
  stop(): Promise<void>
}

/** What differs in how roles are set up. */
export interface ServiceOptions {
  /** Connections to the metadata store at the most. */
  readonly connections: number
  /** Runs before users and roles are read: first users, default rules. An invalidInput failure ends the server plainly. */
  prepareStore?(context: ServiceContext): Promise<void>
}
