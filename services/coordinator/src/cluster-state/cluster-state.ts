import type { RulesByName } from '@svc/domain/rules'
import { type CoordinatorConfig, serverPartsOf } from '@svc/shared/coordinator-config'
import type { ServiceContext } from '@svc/shared/service'
import {
  type FollowedRules,
  loadCoordinatorConfig,
  type ReportedServers,
  type SegmentInventory,
  type ServerInventory,
} from '../inventory/index.ts'
import type { RunInputs, RunResult } from './run-result.ts'

/** Whether the leader knows the cluster, and whether the cluster is settled. */
export interface ClusterState {
  /** Whether the leader has the report of every server. */
  readonly known: boolean
  /** Whether the cluster is known, load queues are empty, and a complete duty run changed nothing. */
  readonly settled: boolean
  /** Why the cluster is not known or not settled. */
  readonly reasons: readonly string[]
  /** Replicas that rules require and the servers cannot have. A settled cluster may have permanent shortages. */
  readonly shortages: readonly string[]
}

/** Tracks whether the leader knows the cluster, and whether the cluster is settled. */
export interface ClusterStateTracker {
  /** Forgets earlier runs, for a new leader. */
  restart(): void
  /** Returns why the leader does not know the cluster; empty if it does. */
  unknownReasons(): string[]
  /** Records the start of a run. Returns a function that records its result once it is complete. */
  beginRun(inputs: RunInputs): (result: RunResult) => void
  current(): Promise<ClusterState>
}

interface CompleteRun extends RunResult {
  readonly inputs: RunInputs
  readonly fingerprint: string
}

// Maximum number of servers to name in a reason.
const maxNamed = 10

/** Creates the tracker. It changes nothing. */
export function trackClusterState(
  { database, discovery }: Pick<ServiceContext, 'database' | 'discovery'>,
  segments: SegmentInventory,
  servers: ServerInventory,
  rules: FollowedRules,
  reportedServers: Pick<ReportedServers, 'awaited'>,
): ClusterStateTracker {
  const { table } = segments
  let lastRun: CompleteRun | undefined
  let generation = 0

  /** Returns a text that changes whenever a later run might decide differently, except because time passes. */
  const fingerprint = (config: CoordinatorConfig): string => {
    const changes = table.datasourceNames.map((_, number) => table.changesOf(number))
    const known = servers
      .loadingServers(performance.now(), serverPartsOf(config))
      .map(({ name, tier, maxSizeBytes, decommissioning }) => [name, tier, maxSizeBytes, decommissioning])
    return JSON.stringify([changes.reduce((sum, one) => sum + one, 0), servers.changes, known, config])
  }

  const unknownReasons = (): string[] => {
    const reporting = new Set(servers.servers().map(({ process }) => process))
    const brokers = discovery.nodes('broker').filter(({ name }) => !reporting.has(name))
    const awaited = [...reportedServers.awaited(), ...brokers].map(({ name }) => name)
    const reasons: string[] = []
    if (awaited.length > 0)
      reasons.push(`The leader waits for the reports of [${awaited.length}] servers: ${listed(awaited)}`)
    if (table.usedCount > 0 && !servers.servers().some(({ type }) => type === 'historical'))
      reasons.push('No historical has reported to the leader')
    return reasons
  }

  const unsettledReasons = async (): Promise<string[]> => {
    const [config, currentRules] = await Promise.all([loadCoordinatorConfig(database), rules.current()])
    const reasons: string[] = []
    const queues = [...servers.queues().values()]
    const loads = queues.reduce((sum, queue) => sum + queue.loads, 0)
    const drops = queues.reduce((sum, queue) => sum + queue.drops, 0)
    if (loads + drops > 0) reasons.push(`Load queues have [${loads}] loads and [${drops}] drops`)
    if (config.pauseCoordination) reasons.push('Coordination is paused: [pauseCoordination] is [true]')
    if (lastRun === undefined) return [...reasons, 'No duty run of this leader is complete']
    if (lastRun.hasChanged) reasons.push('The last duty run changed replicas or segments')
    else if (!areSame(lastRun.inputs.rules, currentRules) || lastRun.fingerprint !== fingerprint(config))
      reasons.push('Rules, segments, servers, or the configuration changed since the last duty run')
    if (lastRun.waitingOvershadowed > 0)
      reasons.push(`[${lastRun.waitingOvershadowed}] overshadowed segments will be marked unused`)
    return reasons
  }

  const failedLoads = (): string[] =>
    servers
      .failedLoads()
      .map(({ name, count }) => `Server [${name}] failed to load [${count}] segments and will retry`)

  return {
    restart: () => {
      lastRun = undefined
      generation += 1
    },
    unknownReasons,
    beginRun: (inputs) => {
      const startedIn = generation
      const before = fingerprint(inputs.config)
      return (result) => {
        if (startedIn === generation) lastRun = { ...result, inputs, fingerprint: before }
      }
    },
    current: async () => {
      await segments.refresh()
      const shortages = [...(lastRun?.shortages ?? []), ...failedLoads()]
      const unknown = unknownReasons()
      if (unknown.length > 0) return { known: false, settled: false, reasons: unknown, shortages }
      const reasons = await unsettledReasons()
      return { known: true, settled: reasons.length === 0, reasons, shortages }
    },
  }
}

/** Returns whether rules are the same. Unchanged lists stay the same objects when rules are read again. */
function areSame(rules: RulesByName, others: RulesByName): boolean {
  return rules.size === others.size && [...rules].every(([name, list]) => others.get(name) === list)
}

function listed(names: readonly string[]): string {
  const more = names.length - maxNamed
  const first = names.slice(0, maxNamed).map((name) => `[${name}]`)
  return `${first.join(', ')}${more > 0 ? `, and [${more}] more` : ''}`
}
