import { type LoadRate, meanRate } from '../load-time/index.ts'
import type { LoadingServer } from '../loading/index.ts'
import { countOf, formatBytes, formatDuration } from '../text/index.ts'
import { type FailedLoads, failedLoadsText } from './failed-loads.ts'
import type { RunTotals } from './forecast-run.ts'

/** What one server is doing. */
export interface ServerWork {
  readonly server: LoadingServer
  /** Its load queue, as far as the caller may know it: without segments of datasources that the caller may not read. */
  readonly queue: { readonly loads: number; readonly loadSizeBytes: number; readonly drops: number }
  /** Undefined if it has not been measured. */
  readonly rate: LoadRate | undefined
  readonly failedLoads: FailedLoads
}

/** A server that cannot serve: it reports why, or it stopped sending heartbeats. */
export interface UnavailableServer {
  readonly role: string
  /** Host and port. */
  readonly server: string
  readonly state: 'notReady' | 'missing'
  /** A sentence without a period. */
  readonly problem: string
}

/** What the leader knows about the work of the cluster. */
export interface ClusterWork {
  readonly servers: readonly ServerWork[]
  /** The servers of all roles that cannot serve. */
  readonly unavailable: readonly UnavailableServer[]
  readonly isPaused: boolean
  /** Whether the leader has a report from every server. */
  readonly known: boolean
  /** Whether the caller may read all datasources. Otherwise, segments and replicas of the others are not counted. */
  readonly seesCluster: boolean
  /** Why the cluster is not known or not settled. */
  readonly reasons: readonly string[]
  /** Replicas that rules require but the servers cannot load, in sentences. */
  readonly shortages: readonly string[]
  /** What the cluster does at a later, known time, in sentences. */
  readonly scheduled: readonly string[]
  /** Whether any segment is used. */
  readonly hasUsedSegments: boolean
  /** When the next duty run starts, and what it decides; undefined if the cluster is settled, so that it decides nothing. */
  readonly nextRun: { readonly inMs: number; readonly totals: RunTotals } | undefined
}

/** What a cluster is doing and what is holding it up. */
export interface ClusterExplanation {
  readonly state: 'unknown' | 'paused' | 'working' | 'settled' | 'short'
  readonly sentences: readonly string[]
}

// A cluster may have thousands of servers.
const maxListed = 5

const pausedSentence =
  'Coordination is paused: [pauseCoordination] is [true], so no new loads or drops are requested'

/** Summarizes what a cluster is doing and what is holding it up, the most important first. */
export function explainCluster(work: ClusterWork): ClusterExplanation {
  const { servers, isPaused, known, reasons, shortages, scheduled, nextRun } = work
  const readable = work.seesCluster ? '' : ' that you may read'
  const all = work.hasUsedSegments
    ? `Every segment${readable} has the replicas that the rules require`
    : `The cluster has no used segments${readable}`
  const loads = [...Map.groupBy(servers, ({ server }) => server.tier)].flatMap(([tier, members]) =>
    queueSentences(tier, members),
  )
  const obstacles = [
    ...unavailableSentences(work.unavailable),
    ...failureSentences(servers),
    ...decommissioningSentences(servers),
  ]
  if (!known) return { state: 'unknown', sentences: [...reasons, ...loads, ...obstacles] }
  if (isPaused)
    return {
      state: 'paused',
      sentences: [pausedSentence, ...loads, ...obstacles],
    }
  if (nextRun !== undefined) {
    const why = loads.length > 0 ? [] : quietSentences(reasons, nextRun, all)
    return { state: 'working', sentences: [...loads, ...obstacles, ...why, ...shortages] }
  }
  if (shortages.length > 0 || servers.some(({ failedLoads }) => failedLoads.count > 0))
    return {
      state: 'short',
      sentences: [
        'Replicas are missing, but nothing is being loaded or dropped',
        ...shortages,
        ...obstacles,
        ...scheduled,
      ],
    }
  return {
    state: 'settled',
    sentences: [`${all}; there is nothing to load or drop`, ...obstacles, ...scheduled],
  }
}

/** Says why servers cannot serve. */
export function unavailableSentences(unavailable: readonly UnavailableServer[]): string[] {
  const named = unavailable
    .slice(0, maxListed)
    .map(
      ({ role, server, state, problem }) =>
        `The ${role} [${server}] is ${state === 'missing' ? 'missing' : 'not ready'}: ${problem}`,
    )
  const more = unavailable.length - named.length
  return more > 0 ? [...named, `${countOf(more, 'more server')} cannot serve`] : named
}

/** What a cluster with empty queues is waiting for. `all` says that no replicas are missing. */
function quietSentences(
  reasons: readonly string[],
  { inMs, totals }: NonNullable<ClusterWork['nextRun']>,
  all: string,
): readonly string[] {
  const inTime = `in ${formatDuration(inMs)}`
  const does = [
    ...(totals.loads > 0 ? [countOf(totals.loads, 'load')] : []),
    ...(totals.drops > 0 ? [countOf(totals.drops, 'drop')] : []),
  ]
  const marks = totals.markedUnused > 0 ? [`marks ${countOf(totals.markedUnused, 'segment')} as unused`] : []
  const actions = [...(does.length > 0 ? [`requests ${does.join(' and ')}`] : []), ...marks]
  if (actions.length > 0) return [...reasons, `The next duty run, ${inTime}, ${actions.join(' and ')}`]
  const next = `The next duty run starts ${inTime}`
  return totals.unplaced > 0
    ? [...reasons, next]
    : [`${all}, and nothing is being loaded or dropped`, ...reasons, next]
}

/** What the leader knows about a server beyond its work. */
export interface ServerFacts extends ServerWork {
  readonly servedSegments: number
  /** Whether coordination is paused. */
  readonly isPaused: boolean
  /** Whether the caller may read all datasources. */
  readonly seesCluster: boolean
  /** Milliseconds since its last report, and since its oldest unanswered load that the caller may know was requested. */
  readonly lastReportAgeMs: number
  readonly oldestLoadAgeMs: number | undefined
  /** The server whose segments it copies, and whether that server is available. */
  readonly cloneOf: { readonly source: string; readonly isAvailable: boolean } | undefined
  readonly maxLoadsPerServer: number
  /** Size of the smallest segment for which its tier has no space; undefined if there is none. */
  readonly minWaitingBytes: number | undefined
}

/** Explains what a server has, what it is doing, and why no more loads are assigned to it. */
export function explainServerWork(facts: ServerFacts): string[] {
  const { server, servedSegments, queue, cloneOf, lastReportAgeMs, seesCluster } = facts
  const { type, tier, maxSizeBytes, usedSizeBytes, decommissioning } = server
  return [
    `Server [${server.name}] is a ${type} in tier [${tier}] and serves ${countOf(servedSegments, 'segment')}: ${usedText(usedSizeBytes, maxSizeBytes)}. Its last report arrived ${formatDuration(lastReportAgeMs)} ago`,
    ...(cloneOf === undefined
      ? []
      : [
          cloneOf.isAvailable
            ? `It is a clone of [${cloneOf.source}] and loads only the segments of its source`
            : `It is a clone of [${cloneOf.source}], which is unavailable, so it neither loads nor drops segments`,
        ]),
    ...(queue.loads > 0 ? [serverQueueSentence(facts)] : []),
    ...(queue.drops > 0 ? [`It is dropping ${countOf(queue.drops, 'segment')}`] : []),
    ...(queue.loads + queue.drops === 0 && cloneOf?.isAvailable !== false
      ? [`It is neither loading nor dropping segments${seesCluster ? '' : ' that you may read'}`]
      : []),
    ...failureSentences([facts]),
    ...(decommissioning
      ? [
          'It is decommissioning: no segments are assigned to it, and it drops each segment once other servers have it',
        ]
      : cloneOf === undefined
        ? obstacleSentences(facts)
        : []),
    ...(facts.isPaused ? [pausedSentence] : []),
  ]
}

const usedText = (usedBytes: number, maxBytes: number): string =>
  `${formatBytes(usedBytes)} of ${formatBytes(maxBytes)} used`

function serverQueueSentence(facts: ServerFacts): string {
  const { queue, rate, oldestLoadAgeMs } = facts
  const left = rate === undefined ? '' : `, about ${formatDuration(timeLeftMs([facts]) ?? 0)} left`
  const oldest =
    oldestLoadAgeMs === undefined
      ? ''
      : `. The oldest load was requested ${formatDuration(oldestLoadAgeMs)} ago`
  return `It is loading ${countOf(queue.loads, 'segment')} (${formatBytes(queue.loadSizeBytes)})${left}${oldest}`
}

function obstacleSentences(facts: ServerFacts): string[] {
  const { server, maxLoadsPerServer, minWaitingBytes, seesCluster } = facts
  const { type, maxSizeBytes, usedSizeBytes, loadingSizeBytes, queuedLoads } = server
  if (maxSizeBytes === 0) return ['It has no storage for segments, so no segments are assigned to it']
  if (type === 'broker') return ['It is a broker, so it loads only broadcast segments']
  if (queuedLoads >= maxLoadsPerServer)
    return [
      seesCluster
        ? `No more segments are assigned to it until its queue is shorter than [${maxLoadsPerServer}]`
        : 'Its load queue is full, so no more segments are assigned to it for now',
    ]
  if (usedSizeBytes + loadingSizeBytes >= maxSizeBytes)
    return ['It is full, so no more segments are assigned to it']
  const freeBytes = maxSizeBytes - usedSizeBytes - loadingSizeBytes
  if (minWaitingBytes !== undefined && freeBytes < minWaitingBytes)
    return [
      `It is full: ${formatBytes(freeBytes)} is free, and the smallest segment that is waiting for space in its tier needs ${formatBytes(minWaitingBytes)}`,
    ]
  return []
}

/** A server of a tier whose segments the leader does not know. */
export interface UnreportedMember {
  readonly name: string
  /** Undefined until a process with servers in several tiers reports. */
  readonly tier: string | undefined
  /** Whether it stopped reporting; otherwise, it has not reported to this leader yet. */
  readonly isLost: boolean
}

/** A server that copies the segments of another one, given by name. */
export interface CloneWork extends ServerWork {
  readonly source: string
}

/** What the leader knows about a tier. */
export interface TierWork {
  /** Its historicals, without clones. */
  readonly members: readonly ServerWork[]
  readonly clones: readonly CloneWork[]
  /** Replicas that rules require but its servers cannot load, in sentences that name the tier. */
  readonly shortages: readonly string[]
  /** The servers that the leader does not know and that are or may be in this tier. */
  readonly unreported: readonly UnreportedMember[]
  /** Servers, by name, that the configuration expects and that have not announced themselves, in any tier. */
  readonly unannounced: readonly string[]
  /** Whether coordination is paused. */
  readonly isPaused: boolean
  /** Whether the caller may read all datasources. */
  readonly seesCluster: boolean
}

/** Explains what a tier has, what it is doing, and what is holding it up. */
export function explainTierWork(
  tier: string,
  { members, clones, shortages, unreported, unannounced, isPaused, seesCluster }: TierWork,
): string[] {
  const leaving = members.filter(({ server }) => server.decommissioning).length
  const used = sum(members, ({ server }) => server.usedSizeBytes)
  const size = sum(members, ({ server }) => server.maxSizeBytes)
  const ofLeaving = leaving === 0 ? '' : `, ${leaving} of them decommissioning`
  const isAwaited = unreported.some(({ isLost }) => !isLost)
  // A server that has not reported may have what is missing.
  const own = isAwaited ? [] : shortages
  // A shortage of a tier without servers says that it has none.
  const summary =
    members.length > 0
      ? [`Tier [${tier}] has ${countOf(members.length, 'server')}${ofLeaving}: ${usedText(used, size)}`]
      : own.length > 0 || isAwaited
        ? []
        : [`Tier [${tier}] has no servers${clones.length > 0 ? ' that are not clones' : ''}`]
  const all = [...members, ...clones]
  const queues = queueSentences(tier, all)
  const idle = all.length > 0 && queues.length === 0
  return [
    ...summary,
    ...unreportedSentences(tier, unreported),
    ...(unannounced.length > 0
      ? [
          `The leader is waiting for reports from ${countOf(unannounced.length, 'server')} in [svc.coordinator.expectedServers] whose tier it does not know, for example [${unannounced[0]}]`,
        ]
      : []),
    ...cloneSentences(clones),
    ...decommissioningSentences(members),
    ...(idle
      ? [`Its servers are neither loading nor dropping segments${seesCluster ? '' : ' that you may read'}`]
      : queues),
    ...failureSentences(all),
    ...own,
    ...(isPaused ? [pausedSentence] : []),
  ]
}

function unreportedSentences(tier: string, unreported: readonly UnreportedMember[]): string[] {
  const lost = unreported.filter(({ isLost }) => isLost)
  const awaited = unreported.filter((server) => !server.isLost && server.tier !== undefined)
  const unknown = unreported.filter((server) => !server.isLost && server.tier === undefined)
  const sentence = (members: readonly UnreportedMember[], describe: (servers: string) => string) =>
    members.length === 0
      ? []
      : [`${describe(countOf(members.length, 'server'))}, for example [${members[0]!.name}]`]
  return [
    ...sentence(awaited, (servers) => `The leader is waiting for reports from ${servers} of tier [${tier}]`),
    ...sentence(
      unknown,
      (servers) => `The leader is waiting for reports from ${servers} whose tier it does not know yet`,
    ),
    ...sentence(lost, (servers) => `${servers} of tier [${tier}] stopped reporting`),
  ]
}

function queueSentences(tier: string, members: readonly ServerWork[]): string[] {
  const loads = sum(members, ({ queue }) => queue.loads)
  const bytes = sum(members, ({ queue }) => queue.loadSizeBytes)
  const drops = sum(members, ({ queue }) => queue.drops)
  const sentences: string[] = []
  if (loads > 0) {
    const leftMs = timeLeftMs(members)
    const left = leftMs === undefined ? '' : `, about ${formatDuration(leftMs)} left`
    sentences.push(`Tier [${tier}] is loading ${countOf(loads, 'segment')} (${formatBytes(bytes)})${left}`)
  }
  if (drops > 0) sentences.push(`Tier [${tier}] is dropping ${countOf(drops, 'segment')}`)
  return sentences
}

/**
 * How long the longest queue takes, including segments that the caller may not know, which may come first; undefined if none of the
 * servers has been measured.
 */
function timeLeftMs(members: readonly ServerWork[]): number | undefined {
  const mean = meanRate(members.flatMap(({ rate }) => rate ?? []))
  if (mean === undefined) return undefined
  const timeOf = ({ server, rate = mean }: ServerWork): number =>
    server.queuedLoads * rate.msPerSegment + server.loadingSizeBytes * rate.msPerByte
  return members.reduce((ms, member) => (member.queue.loads > 0 ? Math.max(ms, timeOf(member)) : ms), 0)
}

function failureSentences(servers: readonly ServerWork[]): string[] {
  const failing = servers.filter(({ failedLoads }) => failedLoads.count > 0)
  const named = failing
    .slice(0, maxListed)
    .map(({ server, failedLoads }) => failedLoadsText(server.name, failedLoads))
  const more = failing.length - named.length
  return more > 0 ? [...named, `${countOf(more, 'more server')} failed to load segments`] : named
}

function cloneSentences(clones: readonly CloneWork[]): string[] {
  const named = clones
    .slice(0, maxListed)
    .map(
      ({ server, source }) =>
        `Server [${server.name}] is a clone of [${source}]; its copies do not count as replicas`,
    )
  const more = clones.length - named.length
  return more > 0 ? [...named, `${countOf(more, 'more clone')}`] : named
}

function decommissioningSentences(servers: readonly ServerWork[]): string[] {
  const leaving = servers.filter(({ server }) => server.decommissioning)
  const named = leaving
    .slice(0, maxListed)
    .map(
      ({ server }) =>
        `Server [${server.name}] is decommissioning; ${formatBytes(server.usedSizeBytes)} of segments are left on it`,
    )
  const more = leaving.length - named.length
  return more > 0 ? [...named, `${countOf(more, 'more server')} decommissioning`] : named
}

const sum = (members: readonly ServerWork[], of: (one: ServerWork) => number): number =>
  members.reduce((total, one) => total + of(one), 0)
