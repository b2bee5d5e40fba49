import { type Database, sql } from '@svc/shared/postgres'
import { basicAuthorization, waitUntil } from '@svc/shared/testing'
import { Agent } from 'undici'
import { runTask } from '../support/flights.ts'
import { inlineTask } from '../support/inline-task.ts'
import type { Endpoint } from '../support/route-tables.ts'
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts'
import { addUsers, credentialsOf } from '../support/test-users.ts'
import type { Caller } from './cases.ts'
import { type HealthyUser, startHealthyUser } from './healthy-samples.ts'
import { attackedDataSource } from './shaped-bodies.ts'
import { removeStored, type StoredState, storeLarge } from './stored-states.ts'

/** Metrics of a server since its last reading. */
export interface ServerReading {
  /** Longest delay of the event loop. */
  readonly delayMs: number
  readonly residentBytes: number
}

/** A secure cluster with callers of each kind. */
export interface HostileWorld {
  readonly cluster: TestCluster
  readonly agent: Agent
  readonly healthyUser: HealthyUser
  /** The instance with the endpoints of a role. */
  instanceOf(role: Endpoint['role']): string
  /** The Authorization header of a caller; undefined for nobody. */
  authorizationOf(caller: Caller): string | undefined
  /** Reads the event-loop delay since the last reading, and the memory. */
  read(instance: string): Promise<ServerReading>
  /**
   * Marks the segment of the attacked datasource as used again, removes what hostile requests have set, and then stores something
   * large of this kind, if there is one.
   */
  restoreData(stored?: StoredState): Promise<void>
  /** The processes of all instances, by instance. */
  pids(): ReadonlyMap<string, number | undefined>
  /** The term of the leader of each role. */
  leaderTerms(): Promise<ReadonlyMap<string, number>>
  end(): Promise<void>
}

const healthyPeriodMs = 100
// The reading waits, because a blocked server answers once it is free again.
const readingTimeoutMs = 10 * 60_000

/**
 * Starts the cluster, with one segment in the attacked datasource, and a healthy user on each of its ports.
 */
export async function startHostileWorld(): Promise<HostileWorld> {
  const cluster = await startTestCluster({
    instances: 'worker=1',
    set: ['overlord.svc.worker.capacity=1'],
    hasRealPasswords: true,
  })
  // Not the HTTP client of other tests: connections are limited, and the error code of each request counts.
  const agent = new Agent({
    connect: { ...(cluster.trusted === undefined ? {} : { ca: cluster.trusted }) },
    headersTimeout: readingTimeoutMs,
    bodyTimeout: readingTimeoutMs,
    connections: 64,
  })
  try {
    const resource = { type: 'DATASOURCE', name: attackedDataSource } as const
    await addUsers(cluster, {
      healthy: [{ resource: { type: 'STATE', name: 'STATE' }, action: 'READ' }],
      none: [],
      one: [
        { resource, action: 'READ' },
        { resource, action: 'WRITE' },
      ],
    })
    await runTask(cluster.router, inlineTask(attackedDataSource))
    await waitUntil(
      'the attacked datasource is loaded',
      () => cluster.router.get<Record<string, number>>('/svc/coordinator/v1/loadstatus'),
      (status) => status[attackedDataSource] === 100,
    )
    return describeWorld(cluster, agent)
  } catch (error) {
    await agent.destroy()
    await cluster.end()
    throw error
  }
}

function describeWorld(cluster: TestCluster, agent: Agent): HostileWorld {
  const admin = `admin:${cluster.adminPassword}`
  const targets = cluster.plan.services.map(({ instance, url }) => ({ instance, url }))
  const credentials: Readonly<Record<Caller, string | undefined>> = {
    anonymous: undefined,
    'no permission': credentialsOf('none'),
    'one datasource': credentialsOf('one'),
    admin,
  }
  const healthyUser = startHealthyUser({
    targets,
    trusted: cluster.trusted,
    credentials: credentialsOf('healthy'),
    periodMs: healthyPeriodMs,
  })
  return {
    cluster,
    agent,
    healthyUser,
    instanceOf: (role) => cluster.plan.services.find((service) => service.role === role)!.instance,
    authorizationOf: (caller) => {
      const known = credentials[caller]
      return known === undefined ? undefined : basicAuthorization(known)
    },
    read: async (instance) => {
      const answer = await agent.request({
        origin: cluster.urls[instance]!,
        path: '/metrics',
        method: 'GET',
        headers: { authorization: basicAuthorization(admin) },
      })
      const text = await answer.body.text()
      if (answer.statusCode !== 200)
        throw new Error(`Failed to read the metrics of ${instance}: ${answer.statusCode} ${text}`)
      return {
        delayMs: metricOf(text, 'nodejs_eventloop_lag_max_seconds') * 1000,
        residentBytes: metricOf(text, 'process_resident_memory_bytes'),
      }
    },
    restoreData: async (stored) => {
      await removeStored(cluster)
      await cluster.at('coordinator').post(`/svc/coordinator/v1/datasources/${attackedDataSource}`, undefined)
      if (stored !== undefined) await storeLarge(cluster, stored)
    },
    pids: () =>
      new Map(cluster.processes().map(({ instance, process: running }) => [instance, running?.pid] as const)),
    leaderTerms: () => leaderTerms(cluster.store),
    end: async () => {
      await healthyUser.stop()
      await agent.destroy()
      await cluster.end()
    },
  }
}

function metricOf(text: string, name: string): number {
  const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]
  if (value === undefined) throw new Error(`The metrics do not contain [${name}]`)
  return Number(value)
}

async function leaderTerms(store: Database): Promise<ReadonlyMap<string, number>> {
  const rows = await store.query<{ role: string; term: number }>(sql`SELECT role, term FROM leader_leases`)
  return new Map(rows.map(({ role, term }) => [role, Number(term)]))
}
