import { describeError, unavailable } from '@svc/domain/failure'
import { type Role, roles, type Settings } from '../config/index.ts'
import {
  type AnnouncedNode,
  type Database,
  isSchemaCurrent,
  type Lease,
  loadLeases,
  loadNodes,
  removeNode,
  saveHeartbeat,
} from '../postgres/index.ts'
import type { Logger } from '../runtime/index.ts'
import { createTroubleLog, startLoop } from '../runtime/index.ts'

/** A server that can be reached. */
export interface DiscoveredNode extends AnnouncedNode {
  /** Where it is called: with TLS if it offers that. */
  readonly baseUrl: string
}

/** Which servers are alive, of the roles that a server of this role has to do with, and which of them lead; a picture at most a heartbeat old. */
export interface Discovery {
  nodes(role: Role): readonly DiscoveredNode[]
  /** The leader of a role, or an `unavailable` failure. */
  leader(role: LeadingRole): Lease
  hasLeader(role: LeadingRole): boolean
  /** Looks again now, for a caller that found the picture out of date. */
  refresh(): Promise<void>
  /** Makes this server known from now on. */
  announce(node: AnnouncedNode): Promise<void>
  /** Makes this server unknown until it is announced again. */
  withdraw(): void
  /** Ends the announcement and the looking. */
  stop(): Promise<void>
}

export type LeadingRole = 'coordinator' | 'overlord'

/** The URL of a server: its TLS port where it has one. */
export function baseUrlOf(node: Pick<AnnouncedNode, 'host' | 'plaintextPort' | 'tlsPort'>): string {
  const host = node.host.includes(':') ? `[${node.host}]` : node.host
  return node.tlsPort === null ? `http://${host}:${node.plaintextPort}` : `https://${host}:${node.tlsPort}`
}

// What servers ask of discovery beside leaders and themselves; those that are not named here ask for all. There may be a
// thousand historicals: were each to read of all others at every heartbeat, the store would give out a million rows a
// second.
const wantedRoles: Partial<Record<Role, readonly Role[]>> = {
  historical: [],
  worker: [],
  overlord: ['overlord', 'worker'],
  router: ['router', 'coordinator', 'overlord', 'broker'],
}

// How soon a server looks again that has seen nothing yet.
const notYetMs = 25

// How long after its start a server expects the others to appear at any moment.
const startingMs = 10_000

/** Starts looking for servers and leaders in the metadata store. */
export function startDiscovery(database: Database, settings: Settings, logger: Logger): Discovery {
  const { role } = settings
  const heartbeatMs = settings.get('svc.discovery.heartbeatPeriod')
  const timeoutMs = settings.get('svc.discovery.timeout')
  const trouble = createTroubleLog(logger)
  let nodes: readonly DiscoveredNode[] = []
  let leases: readonly Lease[] = []
  const startedAt = performance.now()
  let everLooked = false
  let announced: AnnouncedNode | undefined
  let withdrawn: AnnouncedNode | undefined
  let underWay: Promise<void> | undefined
  let next: Promise<void> | undefined

  const look = async (): Promise<void> => {
    // One after the other, on one connection: this goes on as long as the server lives.
    const foundNodes = await loadNodes(database, timeoutMs, {
      roles: wantedRoles[role] ?? roles,
      own: announced,
    })
    const foundLeases = await loadLeases(database)
    nodes = foundNodes.map((node) => ({ ...node, baseUrl: baseUrlOf(node) }))
    leases = foundLeases
  }
  const start = (): Promise<void> => {
    const started = look().finally(() => {
      if (underWay === started) underWay = undefined
    })
    underWay = started
    return started
  }
  // A look that has begun may have missed what its caller knows of: those who ask meanwhile share the next one.
  const refresh = (): Promise<void> => {
    if (!underWay) return start()
    next ??= underWay
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return start()
      })
    return next
  }
  const tell = async (): Promise<void> => {
    const gone = withdrawn
    if (announced) await saveHeartbeat(database, announced)
    else if (gone) await removeNode(database, gone)
    if (withdrawn === gone) withdrawn = undefined
  }
  // On two connections at once, an announcement could arrive after the withdrawal that followed it.
  let told: Promise<void> = Promise.resolve()
  const tellInTurn = (): Promise<void> => {
    const turn = told.then(tell)
    told = turn.catch(() => undefined)
    return turn
  }
  const withdraw = (): void => {
    withdrawn = announced ?? withdrawn
    announced = undefined
    loop.wake()
  }
  const loop = startLoop(
    heartbeatMs,
    async () => {
      // In the first start of a cluster: asking for tables that are not there would fill the log of Postgres.
      if (!everLooked && !(await isSchemaCurrent(database))) return notYetMs
      await tellInTurn()
      await refresh()
      everLooked = true
      trouble.over('Discovery works again')
      // Right after a start the others are about to appear: looking often costs little and saves a second.
      const isStarting = performance.now() - startedAt < startingMs
      return leases.length < 2 && isStarting ? Math.min(heartbeatMs, 50) : heartbeatMs
    },
    (error) => {
      if (!everLooked) return notYetMs
      trouble.tell('Discovery does not work', { error: describeError(error) })
      return heartbeatMs
    },
  )
  return {
    nodes: (role) => nodes.filter((node) => node.role === role),
    leader: (role) => {
      const lease = leases.find((candidate) => candidate.role === role)
      if (!lease) throw unavailable(`No ${role} leads the cluster at the moment`)
      return lease
    },
    hasLeader: (role) => leases.some((lease) => lease.role === role),
    refresh,
    announce: async (node) => {
      announced = node
      withdrawn = undefined
      await tellInTurn()
    },
    withdraw,
    stop: async () => {
      withdraw()
      await loop.stop()
      await tellInTurn().catch(() => undefined)
    },
  }
}
