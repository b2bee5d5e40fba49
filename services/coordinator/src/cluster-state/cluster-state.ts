import { failedLoadsText, judgeFailedLoads } from '@svc/domain/explanation'
import type { LoadingServer } from '@svc/domain/loading'
import type { RulesByName } from '@svc/domain/rules'
import { countOf } from '@svc/domain/text'
import { formatInstant } from '@svc/domain/time'
import {
  type CoordinatorConfig,
  type ServerParts,
  serverPartsOf,
} from '@svc/shared/coordinator-dynamic-config'
import type { Caller } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import {
  type FollowedRules,
  loadCoordinatorConfig,
  type ReportedServers,
  type SegmentInventory,
  type ServerInventory,
} from '../inventory/index.ts'
import { allDatasources, datasourcesReadableBy, type ReadableDatasources } from './readable-datasources.ts'
import {
  type RunChanges,
  type RunInputs,
  type RunResult,
  remainingShortages,
  type Shortage,
  shortageSentences,
  shortageView,
  tierCapacities,
  type WaitingOvershadowed,
} from './run-result.ts'

/** Whether the leader knows the cluster, and whether the cluster is settled. */
export interface ClusterState {
  /** Whether the leader has a report from every server. */
  readonly known: boolean
  /** Whether the cluster is known, load queues are empty, and a complete duty run changed nothing. */
  readonly settled: boolean
  /** Whether coordination is paused, so that nothing is requested from servers. */
  readonly paused: boolean
  /** Why the cluster is not known or not settled. */
  readonly reasons: readonly string[]
  /** Replicas that rules require and the servers cannot have. A settled cluster may have permanent shortages. */
  readonly shortages: readonly string[]
  /** What a settled cluster does at a later, known time. */
  readonly scheduled: readonly string[]
}

/** The state of the cluster with everything in it. */
export interface CompleteClusterState extends ClusterState {
  /** Returns what a caller may see: nothing about the segments and replicas of datasources that it may not read. */
  shownTo(caller: Caller): Promise<ClusterState>
}

/** Tracks whether the leader knows the cluster, and whether the cluster is settled. */
export interface ClusterStateTracker {
  /** Forgets earlier runs, for a new leader. */
  restart(): void
  /** Returns why the leader does not know the cluster; empty if it does. */
  unknownReasons(): string[]
  /** Records the start of a run. Returns a function that records its result once it is complete. */
  beginRun(inputs: RunInputs): (result: RunResult) => void
  current(): Promise<CompleteClusterState>
  /** Returns which replicas the last complete run could not assign, without those that the servers of now contradict. */
  lastShortages(parts: ServerParts): readonly Shortage[]
}

interface CompleteRun extends RunResult {
  readonly inputs: RunInputs
  readonly fingerprints: Fingerprints
  /** The servers at its start, without clones. */
  readonly servers: readonly LoadingServer[]
}

/** What a run depends on in addition to the rules and the time, each as a text that differs whenever a run might decide differently. */
type Fingerprints = Readonly<
  Record<'segments' | 'served segments' | 'servers' | 'dynamic configuration', string>
>

// Maximum number of servers to name in a reason.
const maxNamed = 10

/** State of the cluster that the tracker reads. */
interface TrackedCluster {
  readonly context: Pick<ServiceContext, 'clock' | 'database' | 'discovery' | 'settings'>
  readonly segments: SegmentInventory
  readonly servers: ServerInventory
  readonly rules: FollowedRules
  readonly reportedServers: Pick<ReportedServers, 'awaited'>
}

/** Creates the tracker. It changes nothing. */
export function trackClusterState(cluster: TrackedCluster): ClusterStateTracker {
  const { context, segments, servers } = cluster
  let lastRun: CompleteRun | undefined
  let restarts = 0
  return {
    restart: () => {
      lastRun = undefined
      restarts += 1
    },
    unknownReasons: () => unknownReasons(cluster),
    lastShortages: (parts) => lastShortagesOf(lastRun, servers.loadingServers(performance.now(), parts)),
    beginRun: (inputs) => {
      const startedIn = restarts
      const fingerprints = fingerprintsOf(cluster, inputs.config)
      const known = servers.loadingServers(performance.now(), serverPartsOf(inputs.config))
      return (result) => {
        if (startedIn === restarts) lastRun = { ...result, inputs, fingerprints, servers: known }
      }
    },
    current: async () => {
      const [config, currentRules] = await Promise.all([
        loadCoordinatorConfig(context.database),
        cluster.rules.current(),
        segments.refresh(),
      ])
      const inputs = { config, rules: currentRules }
      const stateSeenBy = observeCluster(cluster, inputs, lastRun)
      const complete = stateSeenBy(allDatasources)
      // Usually, there is nothing to hide, and each change of the cluster is sent to every reader of the changes.
      const isPublic = complete.settled && complete.shortages.length + complete.scheduled.length === 0
      return {
        ...complete,
        shownTo: async (caller) => {
          const readable = isPublic ? allDatasources : await datasourcesReadableBy(caller, segments.table)
          return readable.all ? complete : stateSeenBy(readable)
        },
      }
    },
  }
}

/** Looks at the cluster. Returns a function that returns its state as far as a reader of some datasources sees it. */
function observeCluster(
  cluster: TrackedCluster,
  inputs: RunInputs,
  lastRun: CompleteRun | undefined,
): (readable: ReadableDatasources) => ClusterState {
  const { servers } = cluster
  const { config } = inputs
  const members = servers.loadingServers(performance.now(), serverPartsOf(config))
  const unassigned = lastShortagesOf(lastRun, members)
  const unknown = unknownReasons(cluster)
  const known = unknown.length === 0
  const unsettled = known ? unsettledReasons(cluster, inputs, lastRun) : []
  const waiting = known ? lastRun?.waitingOvershadowed : undefined
  return (readable) => ({
    known,
    settled: known && unsettled.length === 0,
    paused: config.pauseCoordination,
    reasons: known ? unsettled.map((reason) => textOf(reason, readable)) : unknown,
    shortages: [
      ...shortageSentences(unassigned, shortageView(readable)),
      ...failureSentences(cluster, inputs, members, readable),
    ],
    scheduled:
      waiting === undefined
        ? []
        : [`${textOf(overshadowedReason(waiting), readable)} at ${formatInstant(waiting.untilMs)}`],
  })
}

/** Returns which servers failed to load readable segments that are still required. `members` are the servers without clones. */
function failureSentences(
  { context, segments: { table }, servers }: TrackedCluster,
  { config, rules }: RunInputs,
  members: readonly LoadingServer[],
  { hasRow }: ReadableDatasources,
): string[] {
  const stateOf = judgeFailedLoads({
    table,
    rules,
    servers: members,
    clones: servers.clones(performance.now(), serverPartsOf(config)),
    now: context.clock.now(),
    isPaused: config.pauseCoordination,
  })
  return servers
    .failedLoads((id) => hasRow(table.rowOf(id)), stateOf)
    .map(({ name, ...failed }) => failedLoadsText(name, { ...failed, lastError: undefined }))
}

const lastShortagesOf = (
  run: Pick<CompleteRun, 'shortages' | 'servers'> | undefined,
  servers: readonly LoadingServer[],
): readonly Shortage[] =>
  run === undefined || run.shortages.length === 0
    ? []
    : remainingShortages(run.shortages, tierCapacities(run.servers), tierCapacities(servers))

function fingerprintsOf(
  { segments: { table }, servers }: TrackedCluster,
  config: CoordinatorConfig,
): Fingerprints {
  const changes = table.datasourceNames.map((_, number) => table.changesOf(number))
  const known = servers
    .loadingServers(performance.now(), serverPartsOf(config))
    .map(({ name, tier, maxSizeBytes, decommissioning }) => [name, tier, maxSizeBytes, decommissioning])
  return {
    segments: String(changes.reduce((sum, one) => sum + one, 0)),
    'served segments': String(servers.changes),
    servers: JSON.stringify(known),
    'dynamic configuration': JSON.stringify(config),
  }
}

/** Returns what has changed since a run. */
function changedSince(
  { inputs, fingerprints }: CompleteRun,
  cluster: TrackedCluster,
  { config, rules }: RunInputs,
): string[] {
  const current = fingerprintsOf(cluster, config)
  const names = Object.keys(current) as (keyof Fingerprints)[]
  return [
    ...(haveSameRules(inputs.rules, rules) ? [] : ['rules']),
    ...names.filter((name) => current[name] !== fingerprints[name]),
  ]
}

function unknownReasons({
  context: { discovery, settings },
  segments: { table },
  servers,
  reportedServers,
}: TrackedCluster): string[] {
  const reporting = servers.processes()
  const brokers = discovery.nodes('broker').filter(({ name }) => !reporting.has(name))
  const announced = [...reportedServers.awaited(), ...brokers].map(({ name }) => name)
  // A server that hangs while it starts has not announced itself.
  const expected = settings.get('svc.coordinator.expectedServers').filter((name) => !reporting.has(name))
  const awaited = [...new Set([...announced, ...expected])]
  const reasons: string[] = []
  if (awaited.length > 0)
    reasons.push(
      `The leader is waiting for reports from ${countOf(awaited.length, 'server')}: ${listed(awaited)}`,
    )
  if (table.usedCount > 0 && !servers.servers().some(({ type }) => type === 'historical'))
    reasons.push('No historical has reported to the leader')
  return reasons
}

/** Why a cluster is not settled. Counts include segments of all datasources, so callers who may not read all see the other text. */
interface UnsettledReason {
  readonly text: string
  readonly textWithoutCounts: string
}

const textOf = ({ text, textWithoutCounts }: UnsettledReason, { all }: ReadableDatasources): string =>
  all ? text : textWithoutCounts

const withoutCounts = (text: string): UnsettledReason => ({ text, textWithoutCounts: text })

function unsettledReasons(
  cluster: TrackedCluster,
  inputs: RunInputs,
  lastRun: CompleteRun | undefined,
): UnsettledReason[] {
  const { servers } = cluster
  const reasons: UnsettledReason[] = []
  const queues = [...servers.queues().values()]
  const loads = queues.reduce((sum, queue) => sum + queue.loads, 0)
  const drops = queues.reduce((sum, queue) => sum + queue.drops, 0)
  if (loads + drops > 0)
    reasons.push({
      text: `Load queues contain ${countOf(loads, 'load')} and ${countOf(drops, 'drop')}`,
      textWithoutCounts: 'Load queues are not empty',
    })
  if (inputs.config.pauseCoordination)
    reasons.push(withoutCounts('Coordination is paused: [pauseCoordination] is [true]'))
  if (lastRun === undefined)
    return [...reasons, withoutCounts('This leader has not completed a duty run yet')]
  const { done, waitingOvershadowed } = lastRun
  const requested = changesIn(done)
  const changed = changedSince(lastRun, cluster, inputs)
  if (requested.length > 0)
    reasons.push({
      text: `The last duty run requested changes: ${requested.join(', ')}`,
      textWithoutCounts: 'The last duty run requested changes',
    })
  else if (changed.length > 0)
    reasons.push(withoutCounts(`Changed since the last duty run: ${changed.join(', ')}`))
  // Waiting may take minutes, in which nothing else changes.
  if (waitingOvershadowed !== undefined && waitingOvershadowed.untilMs <= Date.now())
    reasons.push(overshadowedReason(waitingOvershadowed))
  return reasons
}

const changesIn = ({ loads, drops, moves, markedUnused }: RunChanges): string[] => [
  ...(loads > 0 ? [countOf(loads, 'load')] : []),
  ...(drops > 0 ? [countOf(drops, 'drop')] : []),
  ...(moves > 0 ? [countOf(moves, 'move')] : []),
  ...(markedUnused > 0 ? [`${countOf(markedUnused, 'segment')} marked as unused`] : []),
]

const overshadowedReason = ({ count }: WaitingOvershadowed): UnsettledReason => ({
  text: `${countOf(count, 'overshadowed segment')} will be marked as unused`,
  textWithoutCounts: 'Overshadowed segments will be marked as unused',
})

/** Returns whether rules are the same. Unchanged lists stay the same objects when rules are read again. */
export function haveSameRules(rules: RulesByName, others: RulesByName): boolean {
  return rules.size === others.size && [...rules].every(([name, list]) => others.get(name) === list)
}

function listed(names: readonly string[]): string {
  const more = names.length - maxNamed
  const first = names.slice(0, maxNamed).map((name) => `[${name}]`)
  return `${first.join(', ')}${more > 0 ? `, and [${more}] more` : ''}`
}
