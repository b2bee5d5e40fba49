import { copyFlag, overshadowingVersions, type SegmentTable } from '../inventory/index.ts'
import { meanRate, timeOf } from '../load-time/index.ts'
import { type LoadingServer, PlacementPlanner } from '../loading/index.ts'
import {
  describeWantedCopies,
  type RuleBoundaries,
  ruleBoundariesOf,
  type WantedCopies,
} from '../rules/index.ts'
import { countOf, formatBytes } from '../text/index.ts'
import { formatInstant, type Interval } from '../time/index.ts'
import {
  describeRule,
  explainRules,
  type PlacedRule,
  placedRuleAt,
  type RuleFindings,
} from './explain-rules.ts'
import {
  canRetry,
  explainClone,
  explainServer,
  explainTier,
  isUninvolved,
  judgeServer,
  type ServerVerdict,
} from './explain-servers.ts'
import type { ForecastLoad, RunForecast, SegmentForecast } from './forecast-run.ts'
import { queuedLoads } from './queued-loads.ts'
import type {
  Candidates,
  Cause,
  ExplainedCluster,
  NextEvent,
  ServerFinding,
  TierFinding,
} from './segment-explanation.ts'
import { explainAwaited, explainLost, plannedServers } from './unreported-servers.ts'

/** Whether a used segment has its replicas, and if not, why. */
export interface SegmentState {
  readonly segment: string
  /**
   * `loaded`: has all replicas that the rule requires; `partial`: has some; `missing`: has none; `unwanted`: the rule
   * requires none; `overshadowed`: newer segments replace it.
   */
  readonly state: 'loaded' | 'partial' | 'missing' | 'unwanted' | 'overshadowed'
  readonly summary: string
  readonly causes: readonly Cause[]
}

/** Why a used segment is where it is. */
export interface SegmentExplanation extends SegmentState {
  readonly dataSource: string
  readonly interval: Interval
  readonly sizeBytes: number
  readonly rules: RuleFindings
  readonly tiers: readonly TierFinding[]
  /** Tiers without servers that the rule names and that are not listed. */
  readonly omittedTiers: number
  /** Servers that have the segment or something to do with it first, then others that a rule names; at most 100. */
  readonly servers: readonly ServerFinding[]
  readonly omittedServers: number
  readonly next: readonly NextEvent[]
}

const maxServers = 100
// A rule may name thousands of tiers.
const maxTiersWithoutServers = 20

/** What a rule requires, without the omitted tiers. */
interface Demand {
  readonly wanted: WantedCopies
  readonly omittedTiers: number
}

/**
 * Explains the used segments of a cluster, given by their rows in the table, and by what the next run decides. Changes
 * nothing.
 */
export class SegmentExplainer {
  private readonly cluster: ExplainedCluster
  private readonly forecast: RunForecast
  private readonly byTier: ReadonlyMap<string, readonly LoadingServer[]>
  private readonly demands = new Map<WantedCopies, Demand>()
  private readonly boundaries = new Map<string, RuleBoundaries>()

  constructor(cluster: ExplainedCluster, forecast: RunForecast) {
    this.cluster = cluster
    this.forecast = forecast
    this.byTier = Map.groupBy(cluster.servers.filter(isHistorical), ({ tier }) => tier)
  }

  /** Returns the state of a segment, which takes much less time than its explanation. */
  stateOf(row: number): SegmentState {
    const { segment, state, summary, causes } = this.examine(row)
    return { segment, state, summary, causes }
  }

  /** Explains a segment. */
  explain(row: number): SegmentExplanation {
    const { cluster } = this
    const { table } = cluster
    const { segment, dataSource, interval, version, state, summary, causes, tiers, demand, decided } =
      this.examine(row)
    const { wanted, omittedTiers } = demand
    const rules = explainRules(cluster.rules, dataSource, interval, cluster.now)
    const mayRetry = retryIn(cluster, row, wanted, tiers)
    const listed = listedServers(cluster, row, { wanted, tiers, mayRetry })
    return {
      segment,
      dataSource,
      interval,
      sizeBytes: table.sizeOf[row]!,
      state,
      summary,
      rules,
      tiers,
      omittedTiers,
      causes,
      servers: listed.servers,
      omittedServers: listed.omitted,
      next: [
        ...overshadowedEvents(cluster, version),
        ...nextEvents(cluster, row, { found: rules, wanted, decided, involved: listed.involved, mayRetry }),
      ],
    }
  }

  private examine(row: number) {
    const { cluster } = this
    const { table } = cluster
    const group = table.groupOf[row]!
    const interval = { start: table.startOf[group]!, end: table.endOf[group]! }
    const dataSource = table.datasourceNames[table.datasourceOf[group]!]!
    const matched = placedRuleAt(cluster.rules, dataSource, this.boundariesOf(dataSource).match(interval))
    const demand = this.demandOf(describeWantedCopies(matched.rule))
    const { wanted, omittedTiers } = demand
    const version = table.hiddenOf[group] === 1 ? overshadowingVersions(table, [group]).get(group) : undefined
    const tiers = tierFindings(cluster, row, wanted, this.byTier)
    const decided =
      cluster.isPaused || version !== undefined ? undefined : stillToDo(table, row, this.forecast.of(row))
    const causes =
      version === undefined
        ? causesOf(cluster, matched, wanted, tiers, omittedTiers, decided)
        : [overshadowedBy(cluster, version)]
    const state = version === undefined ? stateOf(wanted, tiers) : 'overshadowed'
    const summary = summaryOf(state, tiers, causes)
    const id = table.idOf(row)
    return { segment: id, dataSource, interval, version, state, summary, causes, tiers, demand, decided }
  }

  private boundariesOf(dataSource: string): RuleBoundaries {
    let known = this.boundaries.get(dataSource)
    if (known === undefined) {
      known = ruleBoundariesOf(this.cluster.rules, dataSource, this.cluster.now)
      this.boundaries.set(dataSource, known)
    }
    return known
  }

  private demandOf(wanted: WantedCopies): Demand {
    let demand = this.demands.get(wanted)
    if (demand === undefined) {
      demand = withoutOmittedTiers(wanted, this.byTier)
      this.demands.set(wanted, demand)
    }
    return demand
  }
}

/** Returns what a forecast expects, without what servers have begun or finished since. */
function stillToDo(table: SegmentTable, row: number, forecast: SegmentForecast): SegmentForecast {
  const has = (server: number, flag: number): boolean => (table.copies.flags(row, server) & flag) !== 0
  const { served, loading, moving } = copyFlag
  const { loads, cancelledLoads, drops, waits } = forecast
  return {
    loads: loads.filter(
      ({ server }) => !has(server, served) && (!has(server, loading) || has(server, moving)),
    ),
    cancelledLoads: cancelledLoads.filter((server) => has(server, loading)),
    drops: drops.filter((server) => has(server, served) && !has(server, copyFlag.dropping)),
    waits,
  }
}

/** Explains one used segment, given by its row in the table. */
export const explainSegment = (
  cluster: ExplainedCluster,
  row: number,
  forecast: RunForecast,
): SegmentExplanation => new SegmentExplainer(cluster, forecast).explain(row)

/** Returns what a rule requires in tiers with servers, and in the first tiers without servers. */
function withoutOmittedTiers(wanted: WantedCopies, byTier: ReadonlyMap<string, unknown>): Demand {
  if (wanted.action !== 'load') return { wanted, omittedTiers: 0 }
  const listed = new Map<string, number>()
  let withoutServers = 0
  for (const [tier, count] of wanted.tieredReplicants) {
    if (!byTier.has(tier)) withoutServers += 1
    if (byTier.has(tier) || withoutServers <= maxTiersWithoutServers) listed.set(tier, count)
  }
  return {
    wanted: { action: 'load', tieredReplicants: listed },
    omittedTiers: wanted.tieredReplicants.size - listed.size,
  }
}

function overshadowedBy({ overshadowedWaitUntil, isPaused }: ExplainedCluster, version: string): Cause {
  const wait =
    overshadowedWaitUntil === undefined
      ? ''
      : `, but not before ${formatInstant(overshadowedWaitUntil)}: a new leader first waits [millisToWaitBeforeDeleting] milliseconds`
  const pause = isPaused ? '. Coordination is paused: [pauseCoordination] is [true]' : ''
  return {
    code: 'overshadowed',
    text: `This segment is overshadowed by version [${version}] and will be marked as unused once the segments that overshadow it are served${wait}${pause}`,
  }
}

/** What happens to a segment that is overshadowed by a version, at a known time. */
const overshadowedEvents = (
  { overshadowedWaitUntil: at, isPaused }: ExplainedCluster,
  version: string | undefined,
): NextEvent[] =>
  version === undefined || at === undefined || isPaused
    ? []
    : [
        {
          code: 'markUnused',
          at,
          text: 'From then on, runs mark the segment as unused if the segments that overshadow it are served',
        },
      ]

const isHistorical = ({ type }: LoadingServer): boolean => type === 'historical'

/** The tiers that the rule names, then others in which servers have the segment. */
function tierFindings(
  cluster: ExplainedCluster,
  row: number,
  wanted: WantedCopies,
  byTier: ReadonlyMap<string, readonly LoadingServer[]>,
): TierFinding[] {
  const required =
    wanted.action === 'load'
      ? wanted.tieredReplicants
      : new Map(
          [...byTier].map(([tier, members]) => [
            tier,
            wanted.action === 'broadcast' ? members.filter(canHold).length : 0,
          ]),
        )
  const named = [...required].map(([tier, count]) =>
    explainTier(cluster, row, tier, byTier.get(tier) ?? [], count),
  )
  const others = [...byTier]
    .filter(([tier]) => !required.has(tier))
    .map(([tier, members]) => explainTier(cluster, row, tier, members, 0))
  return [...named, ...others].filter((tier) => tier.required + tier.loading + servingIn(tier) > 0)
}

const canHold = ({ decommissioning, maxSizeBytes }: LoadingServer): boolean =>
  !decommissioning && maxSizeBytes > 0

/**
 * Whether the next run may do something about a segment, given by row, or fail to. Then, its explanation needs a forecast of
 * the run.
 */
export function awaitsRun(cluster: ExplainedCluster, row: number): boolean {
  const { table, rules, now, limits, isPaused } = cluster
  if (isPaused || table.isHidden(row)) return false
  const group = table.groupOf[row]!
  const interval = { start: table.startOf[group]!, end: table.endOf[group]! }
  const boundaries = ruleBoundariesOf(rules, table.datasourceNames[table.datasourceOf[group]!]!, now)
  const wanted = boundaries.wantedBy(boundaries.match(interval))
  const planner = new PlacementPlanner(table, decidingServers(cluster, row, wanted), limits)
  return planner.mayChange(row, planner.prepare(wanted))
}

/**
 * Returns the servers that decide whether a segment, given by row, has the replicas that a rule requires: those that have something
 * to do with it, and as many others of each tier as the rule requires replicas there.
 */
function decidingServers(cluster: ExplainedCluster, row: number, wanted: WantedCopies): LoadingServer[] {
  const left = new Map(wanted.action === 'load' ? wanted.tieredReplicants : [])
  return plannedServers(cluster).filter((server) => {
    if (cluster.table.copies.flags(row, server.number) !== 0) return true
    const count = isHistorical(server) && !server.decommissioning ? (left.get(server.tier) ?? 0) : 0
    if (count === 0) return false
    left.set(server.tier, count - 1)
    return true
  })
}

function causesOf(
  cluster: ExplainedCluster,
  matched: PlacedRule,
  wanted: WantedCopies,
  tiers: readonly TierFinding[],
  omittedTiers: number,
  decided: SegmentForecast | undefined,
): Cause[] {
  const rule = describeRule(matched)
  if (wanted.action === 'drop')
    return [{ code: 'dropRule', text: `The segment matches ${rule}, which drops it` }]
  if (tiers.every(({ required }) => required === 0))
    return [{ code: 'noReplicas', text: `The segment matches ${rule}, which loads no replicas` }]
  const causes = tiers.flatMap((tier) => causesInTier(cluster, tier, decided))
  // A server of a tier that is not known yet may be in any of them.
  if (omittedTiers > 0 && cluster.awaited.every(({ tier }) => tier !== undefined))
    causes.push({ code: 'tierWithoutServers', text: `No servers in ${countOf(omittedTiers, 'more tier')}` })
  const isMissing = omittedTiers > 0 || tiers.some(({ required, served }) => served < required)
  if (!isMissing) return []
  const { awaited, unannounced, isPaused } = cluster
  const unknown = awaited.length + unannounced.length
  if (isPaused) causes.push({ code: 'paused', text: 'Coordination is paused: [pauseCoordination] is [true]' })
  if (unknown > 0)
    causes.push({
      code: 'serversUnknown',
      text: `The leader is waiting for reports from ${countOf(unknown, 'server')}`,
    })
  return causes
}

const obstacleTexts: Readonly<
  Record<
    Exclude<keyof Candidates, 'decommissioning' | 'clone' | 'canLoad' | 'loadFailed'>,
    (servers: string) => string
  >
> = {
  beingDropped: (servers) => `${servers} must finish dropping the segment first`,
  noSpace: (servers) => `not enough space on ${servers}`,
  queueFull: (servers) => `load queue full on ${servers}`,
}

function causesInTier(
  { awaited, lost }: ExplainedCluster,
  finding: TierFinding,
  decided: SegmentForecast | undefined,
): Cause[] {
  const { tier, required, served, loading, servers, activeServers, failedServers, candidates } = finding
  const cause = (code: Cause['code'], text: string): Cause => ({
    code,
    tier,
    text: `Tier [${tier}]: ${text}`,
  })
  if (required === 0 || served >= required) return []
  // The tier of a process with several servers is unknown until it reports.
  const isAwaited = awaited.some((server) => server.tier === tier || server.tier === undefined)
  const lostHere = lost.filter((server) => server.tier === tier)
  // Without names, which not every caller may read. Servers that have not reported are listed with the other servers.
  const lostText = lostHere.length === 0 ? '' : `; ${countOf(lostHere.length, 'server')} stopped reporting`
  if (servers === 0)
    return isAwaited
      ? []
      : [cause('tierWithoutServers', `no servers for ${countOf(required, 'replica')}${lostText}`)]
  const leaving = servers - activeServers
  if (activeServers === 0)
    return [
      cause(
        'allDecommissioning',
        `all servers are decommissioning, so none of them loads segments${lostText}`,
      ),
    ]
  const causes: Cause[] = []
  if (activeServers < required)
    causes.push(
      cause(
        'tooFewServers',
        `only ${countOf(activeServers, 'server')}${leaving > 0 ? ` that ${activeServers === 1 ? 'is' : 'are'} not decommissioning` : ''}, and a server loads at most one replica of a segment${lostText}`,
      ),
    )
  if (loading > 0) causes.push(cause('loading', `${countOf(loading, 'replica')} in load queues`))
  if (failedServers > 0)
    causes.push(cause('loadFailed', `${countOf(failedServers, 'server')} failed to load the segment`))
  const missing = Math.min(required, activeServers) - served - loading
  if (missing <= 0) return causes
  const able = candidates.canLoad ?? 0
  if (able < missing)
    for (const [code, text] of Object.entries(obstacleTexts)) {
      const count = candidates[code as keyof typeof obstacleTexts] ?? 0
      if (count > 0) causes.push(cause(code as Cause['code'], text(countOf(count, 'server'))))
    }
  if (able > 0 && decided !== undefined)
    causes.push(...nextCauses(decided, { finding, able: Math.min(able, missing), cause }))
  return causes
}

/** Why replicas that servers could load are not in a queue yet. */
function nextCauses(
  { loads, waits }: SegmentForecast,
  given: {
    readonly finding: TierFinding
    readonly able: number
    readonly cause: (code: Cause['code'], text: string) => Cause
  },
): Cause[] {
  const { finding, able, cause } = given
  const planned = loads.filter(({ tier }) => tier === finding.tier).length
  const causes = planned > 0 ? [cause('nextRun', `the next run assigns ${countOf(planned, 'replica')}`)] : []
  const left = able - planned
  const wait = waits.find(({ tier }) => tier === finding.tier)
  if (left <= 0 || wait === undefined) return causes
  causes.push(
    wait.reason === 'replicationThrottled'
      ? cause(
          'replicationThrottled',
          `${countOf(left, 'additional replica is waiting', 'additional replicas are waiting')} for a later run; each run assigns at most [replicationThrottleLimit] additional replicas in a tier`,
        )
      : cause(
          'behindOthers',
          `${countOf(left, 'replica is waiting', 'replicas are waiting')} for a later run; the next run uses the ${wait.reason === 'queueFull' ? 'load queues' : 'space'} for segments that come first`,
        ),
  )
  return causes
}

function stateOf(wanted: WantedCopies, tiers: readonly TierFinding[]): SegmentExplanation['state'] {
  const named = tiers.filter(({ required }) => required > 0)
  if (wanted.action === 'drop' || named.length === 0) return 'unwanted'
  if (named.every(({ required, served }) => served >= required)) return 'loaded'
  return tiers.some((tier) => servingIn(tier) > 0) ? 'partial' : 'missing'
}

/** Servers of a tier that answer queries with the segment. */
function servingIn({ served, leaving, dropping }: TierFinding): number {
  return served + leaving + dropping
}

const leavingText = (leaving: number): string =>
  leaving === 0
    ? ''
    : ` (not counting ${leaving} on ${leaving === 1 ? 'a decommissioning server' : 'decommissioning servers'})`

function summaryOf(
  state: SegmentExplanation['state'],
  tiers: readonly TierFinding[],
  causes: readonly Cause[],
): string {
  const counts = tiers
    .filter(({ required }) => required > 0)
    .map(
      ({ tier, required, served, leaving }) =>
        `[${tier}] has ${served} of ${countOf(required, 'replica')}${leavingText(leaving)}`,
    )
  const served = tiers.reduce((sum, tier) => sum + servingIn(tier), 0)
  const reasons = causes.map(({ text }) => text).join('. ')
  switch (state) {
    case 'loaded':
      return `The segment has all its replicas: ${counts.join(', ')}`
    case 'partial':
    case 'missing': {
      const first =
        state === 'partial' ? 'The segment is under-replicated' : 'The segment is not available for queries'
      return `${first}: ${counts.join(', ')}. ${reasons}`
    }
    default:
      return served === 0
        ? reasons
        : `${reasons}. ${countOf(served, 'server')} still ${served === 1 ? 'serves' : 'serve'} it`
  }
}

/** The servers that an explanation lists. */
interface ListedServers {
  /** Those with the segment or a failure to load it. */
  readonly involved: readonly ServerVerdict[]
  readonly servers: readonly ServerFinding[]
  /** Number of servers that are not in `servers`. */
  readonly omitted: number
}

/** What a rule requires of a segment, and whether a run may assign it to a server that failed to load it. */
interface Required {
  readonly wanted: WantedCopies
  readonly tiers: readonly TierFinding[]
  mayRetry(verdict: ServerVerdict): boolean
}

/** Returns a function that returns whether the next runs may assign a segment to a server that failed to load it. */
function retryIn(
  { isPaused, table }: ExplainedCluster,
  row: number,
  wanted: WantedCopies,
  tiers: readonly TierFinding[],
): Required['mayRetry'] {
  if (isPaused || table.isHidden(row)) return () => false
  if (wanted.action === 'broadcast') return canRetry
  const lacking = new Set(
    tiers.filter(({ required, served, loading }) => served + loading < required).map(({ tier }) => tier),
  )
  return (verdict) => lacking.has(verdict.tier) && canRetry(verdict)
}

/** Servers with the segment or a failure first, then those that could load it for the rule. */
function listedServers(
  cluster: ExplainedCluster,
  row: number,
  { wanted, tiers, mayRetry }: Required,
): ListedServers {
  const named = new Set(tiers.filter(({ required }) => required > 0).map(({ tier }) => tier))
  const isAsked = (server: LoadingServer): boolean =>
    named.has(server.tier) && (isHistorical(server) || wanted.action === 'broadcast')
  const involved: { readonly verdict: ServerVerdict; explain(): ServerFinding }[] = []
  const others: LoadingServer[] = []
  for (const server of cluster.servers) {
    const verdict = isUninvolved(cluster, row, server.number) ? undefined : judgeServer(cluster, row, server)
    if (verdict !== undefined && isInvolved(verdict))
      involved.push({ verdict, explain: () => explainServer(cluster, row, server, mayRetry) })
    else if (isAsked(server)) others.push(server)
  }
  const known: ServerFinding[] = []
  for (const clone of cluster.clones) {
    const finding = explainClone(cluster, row, clone)
    if (isInvolved(finding)) involved.push({ verdict: finding, explain: () => finding })
    else if (isAsked(clone.target)) known.push(finding)
  }
  const unreported = [
    ...cluster.awaited.map(explainAwaited),
    ...cluster.unannounced.map((name) => explainAwaited({ name, tier: undefined })),
    ...cluster.lost.map(explainLost),
  ]
  for (const finding of unreported)
    if (finding.tier === '' || named.has(finding.tier) || wanted.action === 'broadcast') known.push(finding)
  const servers = involved.slice(0, maxServers).map(({ explain }) => explain())
  for (const server of others.slice(0, maxServers - servers.length))
    servers.push(explainServer(cluster, row, server, mayRetry))
  servers.push(...known.slice(0, maxServers - servers.length))
  return {
    involved: involved.map(({ verdict }) => verdict),
    servers,
    omitted: involved.length + others.length + known.length - servers.length,
  }
}

const isInvolved = ({ state, obstacle, failure }: ServerVerdict): boolean =>
  state === 'serves' ||
  state === 'loads' ||
  state === 'drops' ||
  obstacle === 'loadFailed' ||
  failure !== undefined

/** What decides what happens next to a segment. */
interface Outlook {
  readonly found: RuleFindings
  readonly wanted: WantedCopies
  /** Undefined if the next run does nothing about the segment. */
  readonly decided: SegmentForecast | undefined
  readonly involved: readonly ServerVerdict[]
  readonly mayRetry: Required['mayRetry']
}

// A segment may have replicas on thousands of servers.
const maxNamed = 5

/** Returns why a segment, given by row, never fits in a tier; undefined if a server is large enough, or if the tier has none. */
function tooLargeText({ servers, table }: ExplainedCluster, row: number, tier: string): string | undefined {
  const sizeBytes = table.sizeOf[row]!
  let largestBytes = 0
  for (const server of servers)
    if (server.tier === tier) largestBytes = Math.max(largestBytes, server.maxSizeBytes)
  if (largestBytes === 0 || sizeBytes <= largestBytes) return undefined
  return `the segment needs ${formatBytes(sizeBytes)}, and the largest server has ${formatBytes(largestBytes)}`
}

function nextEvents(
  cluster: ExplainedCluster,
  row: number,
  { found, wanted, decided, involved, mayRetry }: Outlook,
): NextEvent[] {
  const { servers, nextRun, seesCluster } = cluster
  const events = loadedEvents(cluster, row)
  const at = { at: nextRun.at }
  const request = (code: 'cancelLoad' | 'drop', numbers: readonly number[], action: string) => {
    if (numbers.length === 0) return
    const nameOf = new Map(servers.map(({ number, name }) => [number, name]))
    const names = numbers.map((number) => `[${nameOf.get(number)}]`)
    events.push({ code, ...at, text: `The next run ${action} ${firstOf(names)}` })
  }
  if (decided !== undefined) {
    if (wanted.action === 'drop')
      events.push({ code: 'markUnused', ...at, text: 'The next run marks the segment as unused' })
    events.push(...loadEvents(cluster, row, decided.loads))
    request('cancelLoad', decided.cancelledLoads, 'cancels loading the segment on')
    request('drop', decided.drops, 'drops the segment from')
    for (const { tier, place, of, copies } of decided.waits)
      events.push({
        code: 'wait',
        text: `Tier [${tier}]: ${
          tooLargeText(cluster, row, tier) ??
          `${countOf(copies, 'replica is waiting', 'replicas are waiting')} for a later run${seesCluster ? `, at position [${place}] of [${of}] in the tier` : ''}`
        }`,
        ...(seesCluster ? { place } : {}),
      })
  }
  for (const verdict of involved) {
    const { server, obstacle, failure } = verdict
    if (failure?.isResting && obstacle === 'loadFailed' && mayRetry(verdict))
      events.push({
        code: 'retry',
        at: failure.retryAt,
        text: `A later run may assign the segment to [${server}] again`,
      })
  }
  if (found.next !== undefined)
    events.push({
      code: 'ruleChange',
      at: found.next.at,
      text: `Another rule applies from then on: ${describeRule(found.next.rule)}`,
    })
  return events
}

const firstOf = (names: readonly string[]): string =>
  `${names.slice(0, maxNamed).join(', ')}${names.length > maxNamed ? ` and ${names.length - maxNamed} more` : ''}`

/** The loads that the next run requests, each with the expected time, and its place in the queue if the caller may know it. */
function loadEvents(cluster: ExplainedCluster, row: number, loads: readonly ForecastLoad[]): NextEvent[] {
  const { table, servers, nextRun, seesCluster } = cluster
  const events = loads.slice(0, maxNamed).map((load): NextEvent => {
    const server = servers.find(({ number }) => number === load.server)!
    const rate = rateIn(cluster, server)
    const place = load.loadsBefore + 1
    const doneAt =
      rate === undefined
        ? undefined
        : Math.round(
            nextRun.at +
              Math.max(0, timeOf(rate, server.queuedLoads, server.loadingSizeBytes) - nextRun.inMs) +
              timeOf(rate, load.newLoadsBefore + 1, load.newBytesBefore + table.sizeOf[row]!),
          )
    return {
      code: 'load',
      at: nextRun.at,
      text: `The next run assigns the segment to [${server.name}]${seesCluster ? `, at position [${place}] in its load queue` : ''}${doneText(doneAt)}`,
      ...(seesCluster ? { place } : {}),
      ...(doneAt === undefined ? {} : { doneAt }),
    }
  })
  const more = loads.length - events.length
  if (more > 0)
    events.push({
      code: 'load',
      at: nextRun.at,
      text: `The next run assigns the segment to ${countOf(more, 'more server')}`,
    })
  return events
}

const doneText = (doneAt: number | undefined): string =>
  doneAt === undefined ? '' : `; it is expected to be loaded at ${formatInstant(doneAt)}`

/** The loads that are in queues now. */
function loadedEvents(cluster: ExplainedCluster, row: number): NextEvent[] {
  const { servers, table, nextRun, seesCluster } = cluster
  const isLoading = ({ number }: LoadingServer) => (table.copies.flags(row, number) & copyFlag.loading) !== 0
  const all = servers.filter(isLoading)
  const loading = all.slice(0, maxNamed)
  if (loading.length === 0) return []
  const queues = queuedLoads(
    table,
    row,
    loading.map(({ number }) => number),
  )
  const events = loading.map((server): NextEvent => {
    const { before, bytesBefore } = queues.get(server.number)!
    const rate = rateIn(cluster, server)
    const doneAt =
      rate === undefined
        ? undefined
        : Math.round(nextRun.at - nextRun.inMs + timeOf(rate, before + 1, bytesBefore + table.sizeOf[row]!))
    const place = before + 1
    return {
      code: 'loaded',
      text: `Server [${server.name}] loads the segment${seesCluster ? `, at position [${place}] of [${server.queuedLoads}] in its load queue` : ''}${doneText(doneAt)}`,
      ...(seesCluster ? { place } : {}),
      ...(doneAt === undefined ? {} : { at: doneAt, doneAt }),
    }
  })
  const more = all.length - loading.length
  if (more > 0)
    events.push({
      code: 'loaded',
      text: `The segment is in the load queues of ${countOf(more, 'more server')}`,
    })
  return events
}

/** The measured rate of a server, or the mean of its tier. */
function rateIn({ servers, rateOf }: ExplainedCluster, { name, tier }: LoadingServer) {
  return (
    rateOf(name) ??
    meanRate(servers.flatMap((other) => (other.tier === tier ? (rateOf(other.name) ?? []) : [])))
  )
}
