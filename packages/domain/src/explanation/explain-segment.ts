import { copyFlag, overshadowingVersions, type SegmentTable } from '../inventory/index.ts'
import { meanRate, timeOf } from '../load-time/index.ts'
import { type LoadingServer, PlacementPlanner } from '../loading/index.ts'
import {
  describeWantedCopies,
  type RuleBoundaries,
  ruleBoundariesOf,
  type WantedCopies,
} from '../rules/index.ts'
import { countOf } from '../text/index.ts'
import { formatInstant, type Interval } from '../time/index.ts'
import {
  describeRule,
  explainRules,
  type PlacedRule,
  placedRuleAt,
  type RuleFindings,
} from './explain-rules.ts'
import {
  explainClone,
  explainServer,
  explainTier,
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
    const { segment, dataSource, interval, state, summary, causes, tiers, demand, decided } =
      this.examine(row)
    const { wanted, omittedTiers } = demand
    const rules = explainRules(cluster.rules, dataSource, interval, cluster.now)
    const listed = listedServers(cluster, row, wanted, tiers)
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
      servers: listed.slice(0, maxServers).map(({ explain }) => explain()),
      omittedServers: Math.max(0, listed.length - maxServers),
      next: nextEvents(cluster, row, { found: rules, wanted, decided, listed, tiers }),
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
        : [overshadowedBy(version)]
    const state = version === undefined ? stateOf(wanted, tiers) : 'overshadowed'
    const summary = summaryOf(state, tiers, causes)
    return { segment: table.idOf(row), dataSource, interval, state, summary, causes, tiers, demand, decided }
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

const overshadowedBy = (version: string): Cause => ({
  code: 'overshadowed',
  text: `This segment is overshadowed by version [${version}] and will be marked as unused once the segments of that version are served`,
})

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
  const planner = new PlacementPlanner(table, plannedServers(cluster), limits)
  return planner.mayChange(row, planner.prepare(boundaries.wantedBy(boundaries.match(interval))))
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
  if (omittedTiers > 0)
    causes.push({ code: 'tierWithoutServers', text: `No servers in ${countOf(omittedTiers, 'more tier')}` })
  const isMissing = omittedTiers > 0 || tiers.some(({ required, served }) => served < required)
  if (!isMissing) return []
  const { awaited, isPaused } = cluster
  if (isPaused) causes.push({ code: 'paused', text: 'Coordination is paused: [pauseCoordination] is [true]' })
  if (awaited.length > 0)
    causes.push({
      code: 'serversUnknown',
      text: `The leader is waiting for reports from ${countOf(awaited.length, 'server')}, for example [${awaited[0]!.name}]`,
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
  { awaited }: ExplainedCluster,
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
  if (servers === 0)
    return awaited.some((server) => server.tier === tier)
      ? []
      : [cause('tierWithoutServers', `no servers for ${countOf(required, 'replica')}`)]
  if (activeServers === 0)
    return [cause('allDecommissioning', 'all servers are decommissioning, so none of them loads segments')]
  const causes: Cause[] = []
  if (activeServers < required)
    causes.push(
      cause(
        'tooFewServers',
        `only ${countOf(activeServers, 'server')}, and a server loads at most one replica of a segment`,
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

function summaryOf(
  state: SegmentExplanation['state'],
  tiers: readonly TierFinding[],
  causes: readonly Cause[],
): string {
  const counts = tiers
    .filter(({ required }) => required > 0)
    .map(({ tier, required, served }) => `[${tier}] has ${served} of ${countOf(required, 'replica')}`)
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

/** A server that an explanation may list. */
interface ListedServer extends ServerVerdict {
  explain(): ServerFinding
}

const listedAs = (finding: ServerFinding): ListedServer => ({ ...finding, explain: () => finding })

/** Servers with the segment or a failure first, then those that could load it for the rule. */
function listedServers(
  cluster: ExplainedCluster,
  row: number,
  wanted: WantedCopies,
  tiers: readonly TierFinding[],
): ListedServer[] {
  const named = new Set(tiers.filter(({ required }) => required > 0).map(({ tier }) => tier))
  const isAsked = (server: LoadingServer): boolean =>
    named.has(server.tier) && (isHistorical(server) || wanted.action === 'broadcast')
  const explained = (server: LoadingServer): ListedServer => ({
    ...judgeServer(cluster, row, server),
    explain: () => explainServer(cluster, row, server),
  })
  const found = [
    ...cluster.servers.map((server) => ({ server, listed: explained(server) })),
    ...cluster.clones.map((clone) => ({
      server: clone.target,
      listed: listedAs(explainClone(cluster, row, clone)),
    })),
  ]
  const isInvolved = ({ state, obstacle, failure }: ServerVerdict): boolean =>
    state === 'serves' ||
    state === 'loads' ||
    state === 'drops' ||
    obstacle === 'loadFailed' ||
    failure !== undefined
  const [involved, others] = [true, false].map((is) =>
    found.filter(({ listed }) => isInvolved(listed) === is),
  ) as [typeof found, typeof found]
  const unreported = [...cluster.awaited.map(explainAwaited), ...cluster.lost.map(explainLost)].map(listedAs)
  return [
    ...[...involved, ...others.filter(({ server }) => isAsked(server))].map(({ listed }) => listed),
    ...unreported.filter(({ tier }) => tier === '' || named.has(tier) || wanted.action === 'broadcast'),
  ]
}

/** What decides what happens next to a segment. */
interface Outlook {
  readonly found: RuleFindings
  readonly wanted: WantedCopies
  /** Undefined if the next run does nothing about the segment. */
  readonly decided: SegmentForecast | undefined
  readonly listed: readonly ServerVerdict[]
  readonly tiers: readonly TierFinding[]
}

// A segment may have replicas on thousands of servers.
const maxNamed = 5

function nextEvents(
  cluster: ExplainedCluster,
  row: number,
  { found, wanted, decided, listed, tiers }: Outlook,
): NextEvent[] {
  const { servers, nextRun } = cluster
  const nameOf = new Map(servers.map(({ number, name }) => [number, name]))
  const events = loadedEvents(cluster, row)
  const at = { at: nextRun.at }
  const request = (code: 'cancelLoad' | 'drop', numbers: readonly number[], action: string) => {
    const names = numbers.map((number) => `[${nameOf.get(number)}]`)
    if (names.length > 0) events.push({ code, ...at, text: `The next run ${action} ${firstOf(names)}` })
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
        text: `Tier [${tier}]: ${countOf(copies, 'replica is waiting', 'replicas are waiting')} for a later run, at position [${place}] of [${of}] in the tier`,
        place,
      })
  }
  const missing = new Set(tiers.filter(({ required, served }) => served < required).map(({ tier }) => tier))
  for (const { server, tier, state, failure } of listed)
    if (failure?.isResting && missing.has(tier) && state === 'cannotLoad')
      events.push({
        code: 'retry',
        at: failure.retryAt,
        text: `A later run may assign the segment to [${server}] again`,
      })
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

/** The loads that the next run requests, each with its place in the queue and the expected time. */
function loadEvents(cluster: ExplainedCluster, row: number, loads: readonly ForecastLoad[]): NextEvent[] {
  const { table, servers, nextRun } = cluster
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
      text: `The next run assigns the segment to [${server.name}], at position [${place}] in its load queue${doneText(doneAt)}`,
      place,
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
  const { servers, table, nextRun } = cluster
  const isLoading = ({ number }: LoadingServer) => (table.copies.flags(row, number) & copyFlag.loading) !== 0
  const loading = servers.filter(isLoading).slice(0, maxNamed)
  if (loading.length === 0) return []
  const queues = queuedLoads(
    table,
    row,
    loading.map(({ number }) => number),
  )
  return loading.map((server) => {
    const { before, bytesBefore } = queues.get(server.number)!
    const rate = rateIn(cluster, server)
    const doneAt =
      rate === undefined
        ? undefined
        : Math.round(nextRun.at - nextRun.inMs + timeOf(rate, before + 1, bytesBefore + table.sizeOf[row]!))
    const place = before + 1
    return {
      code: 'loaded',
      text: `Server [${server.name}] loads the segment, at position [${place}] of [${server.queuedLoads}] in its load queue${doneText(doneAt)}`,
      place,
      ...(doneAt === undefined ? {} : { at: doneAt, doneAt }),
    }
  })
}

/** The measured rate of a server, or the mean of its tier. */
function rateIn({ servers, rateOf }: ExplainedCluster, { name, tier }: LoadingServer) {
  return (
    rateOf(name) ??
    meanRate(servers.flatMap((other) => (other.tier === tier ? (rateOf(other.name) ?? []) : [])))
  )
}
