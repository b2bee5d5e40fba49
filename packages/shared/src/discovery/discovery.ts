import { describeError, unavailable } from '@svc/domain/failure'
import { type Role, roles, type Settings } from '../config/index.ts'
import {
  type AnnouncedNode,
  type Database,
  isSchemaCurrent,
  type Lease,
  loadLeases,
  refreshMembers,
  removeNode,
  saveHeartbeat,
  type ValidLease,
} from '../postgres/index.ts'
import type { Logger } from '../runtime/index.ts'
import { createProblemLog, sharedRuns, startLoop } from '../runtime/index.ts'

/** A server that can be reached. */
export interface DiscoveredNode extends AnnouncedNode {
  /** Base URL for calls; uses TLS if the server has a TLS port. */
  readonly baseUrl: string
}

/**
 * The live servers of the roles that this server needs, and the leaders among them; at most one heartbeat period old.
 */
export interface Discovery {
  nodes(role: Role): readonly DiscoveredNode[]
  /** Returns the leader of a role. Throws an `unavailable` Failure if there is none. */
  leader(role: LeadingRole): Lease
  hasLeader(role: LeadingRole): boolean
  /** Calls back whenever a role has a new leader or a new term of its leader, until the returned function is called. */
  onNewLeader(role: LeadingRole, callback: () => void): () => void
  /** Refreshes now, for a caller that found the list out of date. */
  refresh(): Promise<void>
  /** Announces this server. */
  announce(node: AnnouncedNode): Promise<void>
  /** Removes this server until it is announced again. */
  withdraw(): void
  /** Withdraws this server and stops refreshing. */
  stop(): Promise<void>
}

export type LeadingRole = 'coordinator' | 'overlord'

/** Returns the base URL of a server, with its TLS port if it has one. */
export function baseUrlOf(node: Pick<AnnouncedNode, 'host' | 'plaintextPort' | 'tlsPort'>): string {
  const host = node.host.includes(':') ? `[${node.host}]` : node.host
  return node.tlsPort === null ? `http://${host}:${node.plaintextPort}` : `https://${host}:${node.tlsPort}`
}

// The roles that servers need from discovery, in addition to leaders and themselves; roles not listed here need all.
// With a thousand historicals that each read all others at every heartbeat, the metadata store would return a million
// rows per second.
const wantedRoles: Partial<Record<Role, readonly Role[]>> = {
  historical: ['coordinator'],
  worker: [],
  overlord: ['overlord', 'worker'],
  router: ['router', 'coordinator', 'overlord', 'broker'],
}

// Delay between refreshes until the first one succeeds.
const notYetMs = 25

// How long after its start a server refreshes more often, because others are about to appear.
const startingMs = 10_000

// Delay between refreshes of the leaders while one is about to be replaced, and for how long after its lease expired.
const replacingMs = 100
const maxReplacingMs = 10_000

/** Starts discovery of servers and leaders through the metadata store. */
export function startDiscovery(database: Database, settings: Settings, logger: Logger): Discovery {
  const wanted = wantedRoles[settings.role] ?? roles
  const heartbeatMs = settings.get('svc.discovery.heartbeatPeriod')
  const timeoutMs = settings.get('svc.discovery.timeout')
  // Leaders renew their leases much earlier than this.
  const soonMs = Math.min(heartbeatMs, settings.get('svc.leader.leasePeriod') / 4)
  const problemLog = createProblemLog(logger)
  const leaders = createKnownLeaders(database, soonMs)
  const announcement = createAnnouncement(database)
  let nodes: readonly DiscoveredNode[] = []
  const startedAt = performance.now()
  let hasRefreshed = false
  // While a leader is being replaced, only the leaders are refreshed until this time.
  let refreshAt = 0

  const refresh = sharedRuns(() =>
    announcement.inTurn(async (own) => {
      const found = await refreshMembers(database, { roles: wanted, own, timeoutMs, soonMs })
      leaders.replace(found.leases)
      nodes = found.nodes.map((node) => ({ ...node, baseUrl: baseUrlOf(node) }))
    }),
  )
  const withdraw = (): void => {
    announcement.withdraw()
    refreshAt = 0
    loop.wake()
  }
  const loop = startLoop(
    heartbeatMs,
    async () => {
      // During the first start of a cluster, queries on missing tables would fill the Postgres log.
      if (!hasRefreshed && !(await isSchemaCurrent(database))) return notYetMs
      if (performance.now() >= refreshAt) {
        await refresh()
        refreshAt = performance.now() + heartbeatMs
      } else await announcement.inTurn(leaders.refresh)
      hasRefreshed = true
      problemLog.over('Discovery recovered')
      if (leaders.areBeingReplaced()) return replacingMs
      refreshAt = 0
      // Right after a start, others are about to appear: frequent refreshes cost little and save a second.
      const isStarting = performance.now() - startedAt < startingMs
      return leaders.count() < 2 && isStarting ? Math.min(heartbeatMs, 50) : heartbeatMs
    },
    (error) => {
      if (!hasRefreshed) return notYetMs
      problemLog.report('Discovery failed; using the last known servers', { error: describeError(error) })
      return heartbeatMs
    },
  )
  return {
    nodes: (role) => nodes.filter((node) => node.role === role),
    leader: leaders.of,
    hasLeader: leaders.has,
    onNewLeader: leaders.onNew,
    refresh,
    announce: async (node) => {
      announcement.set(node)
      await announcement.save()
    },
    withdraw,
    stop: async () => {
      withdraw()
      await loop.stop()
      await announcement.save().catch(() => undefined)
    },
  }
}

/** The leaders that this server knows. Leases that expire within `soonMs` belong to leaders that stopped renewing them. */
function createKnownLeaders(database: Database, soonMs: number) {
  const watchers = createLeaderWatchers()
  let leases: readonly ValidLease[] = []
  const rolesWithLeader = new Set<string>()
  // When this server last knew a leader for each of these roles.
  let completeAt = performance.now()
  const isLed = (role: string): boolean => leases.some((lease) => lease.role === role && !lease.expiresSoon)
  const isComplete = (): boolean => [...rolesWithLeader].every(isLed)
  const replace = (found: readonly ValidLease[]): void => {
    const before = leases
    leases = found
    for (const { role } of leases) rolesWithLeader.add(role)
    if (isComplete()) completeAt = performance.now()
    watchers.notify(before, leases)
  }
  return {
    replace,
    refresh: async () => replace(await loadLeases(database, soonMs)),
    /** Whether a leader is gone, or about to be, and has not been gone for long. */
    areBeingReplaced: () => !isComplete() && performance.now() - completeAt < maxReplacingMs,
    count: () => leases.length,
    of: (role: LeadingRole): Lease => {
      const lease = leases.find((candidate) => candidate.role === role)
      if (!lease) throw unavailable(`No ${role} leader is available at the moment`)
      return lease
    },
    has: (role: LeadingRole): boolean => leases.some((lease) => lease.role === role),
    onNew: watchers.add,
  }
}

/** Callbacks for roles that get a new leader. */
function createLeaderWatchers() {
  const watchers = new Set<{ readonly role: LeadingRole; readonly callback: () => void }>()
  const termOf = (leases: readonly Lease[], role: LeadingRole): number | undefined =>
    leases.find((lease) => lease.role === role)?.term
  return {
    add: (role: LeadingRole, callback: () => void) => {
      const watcher = { role, callback }
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    notify: (before: readonly Lease[], after: readonly Lease[]): void => {
      for (const { role, callback } of watchers) {
        const term = termOf(after, role)
        if (term !== undefined && term !== termOf(before, role)) callback()
      }
    },
  }
}

/** The announcement of this server, which is saved in the metadata store, or removed from it. */
function createAnnouncement(database: Database) {
  let announced: AnnouncedNode | undefined
  let withdrawn: AnnouncedNode | undefined
  // On two concurrent connections, an announcement could arrive after the withdrawal that followed it, and an old answer after a
  // new one.
  let lastTurn: Promise<void> = Promise.resolve()

  /** Runs work that may save the announcement, after earlier such work, and after a withdrawal has been saved. */
  const inTurn = (work: (announced: AnnouncedNode | undefined) => Promise<void>): Promise<void> => {
    const turn = lastTurn.then(async () => {
      const gone = withdrawn
      if (announced === undefined && gone) await removeNode(database, gone)
      await work(announced)
      if (withdrawn === gone) withdrawn = undefined
    })
    lastTurn = turn.catch(() => undefined)
    return turn
  }
  return {
    set: (node: AnnouncedNode): void => {
      announced = node
      withdrawn = undefined
    },
    withdraw: (): void => {
      withdrawn = announced ?? withdrawn
      announced = undefined
    },
    inTurn,
    save: (): Promise<void> => inTurn(async (node) => node && (await saveHeartbeat(database, node))),
  }
}
