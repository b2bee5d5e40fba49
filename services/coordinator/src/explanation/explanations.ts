import {
  type AnsweredRule,
  type AnsweredServer,
  awaitsRun,
  type ClusterExplanation,
  describeRule,
  type ExplainedCluster,
  type ExplanationAnswer,
  explainCluster,
  explainRules,
  explainSegment,
  explainServerWork,
  explainTierWork,
  idleRun,
  judgeFailedLoads,
  type LostServer,
  type PlacedRule,
  type RunForecast,
  SegmentExplainer,
  type SegmentExplanation,
  type ServerFinding,
  type ServerWork,
  type UnavailableServer,
  type UnreportedMember,
  unavailableSentences,
  wouldBeOvershadowed,
} from '@svc/domain/explanation'
import { notFound } from '@svc/domain/failure'
import type { SegmentTable } from '@svc/domain/inventory'
import { describeWantedCopies, formatRule } from '@svc/domain/rules'
import { countOf } from '@svc/domain/text'
import { formatInstant, formatInterval, type Interval } from '@svc/domain/time'
import {
  type CoordinatorConfig,
  loadingLimitsOf,
  overshadowedWaitMs,
  type ServerParts,
  serverPartsOf,
} from '@svc/shared/coordinator-dynamic-config'
import type { DutyGroup } from '@svc/shared/duties'
import {
  countUnused,
  loadUnused,
  shownTaskId,
  type UnusedCause,
  type UnusedCount,
} from '@svc/shared/postgres'
import type { Caller } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { createSlices, finishInSlices } from '@svc/shared/slices'
import { loadUnavailableServers } from '../answers/index.ts'
import {
  type ClusterState,
  type ClusterStateTracker,
  datasourcesReadableBy,
  type ReadableDatasources,
  type Shortage,
  shortageSentence,
  shortageSentences,
  shortagesOf,
  shortageView,
} from '../cluster-state/index.ts'
import type {
  FollowedRules,
  LoadMeter,
  LostServerState,
  QueueSize,
  ReportedServers,
  SegmentInventory,
  ServerInventory,
} from '../inventory/index.ts'
import { auditText, unknownSegment } from './deleted-segments.ts'
import { createForecasts } from './forecasts.ts'

/** The state that explanations are based on. */
interface ExplainedState {
  readonly context: Pick<ServiceContext, 'clock' | 'database' | 'settings'>
  readonly segments: SegmentInventory
  readonly servers: ServerInventory
  readonly rules: FollowedRules
  /** Returns the current dynamic configuration. */
  readonly config: () => Promise<CoordinatorConfig>
  readonly reportedServers: Pick<ReportedServers, 'awaited'>
  readonly clusterState: Pick<ClusterStateTracker, 'lastShortages' | 'current'>
  /** The duty group that runs the rules. */
  readonly loading: Pick<DutyGroup, 'untilNextRunMs'> & {
    status(): Pick<ReturnType<DutyGroup['status']>, 'runs'>
  }
  readonly loadMeter: Pick<LoadMeter, 'rateOf'>
  /** When this server became the leader, in milliseconds of the monotonic clock. */
  leaderSinceMs(): number
}

/** Explains segments. Answers are ready to be sent as JSON. */
export interface Explanations {
  /** Explains a segment. Throws notFound if the datasource has no such segment. */
  ofSegment(dataSource: string, id: string, caller: Caller): Promise<ExplanationAnswer>
  /** Explains the used segments that overlap an interval, and counts the unused ones. */
  ofInterval(dataSource: string, interval: Interval, caller: Caller, signal: AbortSignal): Promise<object>
  /** Returns what the cluster is doing and what is holding it up. */
  ofCluster(caller: Caller): Promise<ClusterAnswer>
  /** Explains what a server has and does. Throws notFound for an unknown one. */
  ofServer(name: string, caller: Caller): Promise<Sentences>
  /** Explains what a tier has and does. Throws notFound for one without servers that no readable segment requires replicas in. */
  ofTier(tier: string, caller: Caller): Promise<Sentences>
}

/** What the cluster is doing, with the servers that cannot serve, which the sentences mention, too. */
interface ClusterAnswer extends ClusterExplanation {
  readonly unavailableServers: readonly UnavailableServer[]
}

/** An explanation in sentences. */
interface Sentences {
  readonly sentences: readonly string[]
}

// An interval may cover a million segments.
const maxListed = 100
const maxExplained = 2000

/** Creates the explanations of a leader. */
export function createExplanations(state: ExplainedState): Explanations {
  const { context, segments } = state
  const { table } = segments
  const slices = createSlices()
  const forecastOf = createForecasts(() => state.loading.status().runs)
  return {
    ofSegment: async (dataSource, id, caller) => {
      const cluster = await clusterOf(state)
      const row = await usedRow(dataSource, id)
      if (row < 0) return await unusedAnswer(cluster, dataSource, id, caller)
      const forecast = awaitsRun(cluster, row) ? await forecastOf(cluster) : idleRun
      const canReadServers = caller.can('READ', 'STATE', 'STATE')
      // Only answers with servers show places in queues.
      const seesCluster = canReadServers && (await datasourcesReadableBy(caller, table)).all
      return answerOf(explainSegment({ ...cluster, seesCluster }, row, forecast), canReadServers)
    },
    ofInterval: async (dataSource, interval, caller, signal) => {
      await segments.refresh()
      const cluster = await clusterOf(state)
      const forecast = cluster.isPaused ? idleRun : await forecastOf(cluster)
      const unused = await countUnused(context.database, dataSource, interval)
      const found = await slices.run(() => explainInterval(cluster, forecast, dataSource, interval), signal)
      return { ...found, ...unusedIn(unused, found.summary, caller) }
    },
    ofCluster: (caller) => explainWork(state, caller, forecastOf),
    ofServer: (name, caller) => explainServer(state, name, caller, forecastOf),
    ofTier: (tier, caller) => explainTier(state, tier, caller, forecastOf),
  }

  /** Returns the row of a used segment of a datasource, or -1. */
  async function usedRow(dataSource: string, id: string): Promise<number> {
    const find = (): number => {
      const row = table.rowOf(id)
      return table.isUsed(row) && datasourceOf(table, row) === dataSource ? row : -1
    }
    const row = find()
    if (row >= 0) return row
    // The report about a new segment may be late.
    await segments.refresh()
    return find()
  }

  async function unusedAnswer(
    cluster: ExplainedCluster,
    dataSource: string,
    id: string,
    caller: Caller,
  ): Promise<ExplanationAnswer> {
    const unused = await loadUnused(context.database, dataSource, id)
    if (unused === undefined) throw await unknownSegment(context.database, dataSource, id)
    const { text, cause } = unusedTexts(unused, caller)
    return {
      segment: id,
      dataSource,
      interval: formatInterval(unused.interval),
      sizeBytes: unused.sizeBytes,
      state: 'unused',
      summary: `${text}. Its data is kept until a kill task deletes it. ${await returnText(cluster, dataSource, unused)}`,
      causes: [{ code: unused.cause?.kind ?? 'unknown', text: cause }],
    }
  }
}

const datasourceOf = (
  { datasourceNames, datasourceOf: numbers, groupOf }: SegmentTable,
  row: number,
): string => datasourceNames[numbers[groupOf[row]!]!]!

/** Forecasts the next run of the cluster. */
type ForecastOf = (cluster: ExplainedCluster) => Promise<RunForecast>

/** What the leader knows about the work of the cluster and about the next run. */
interface Outlook {
  readonly config: CoordinatorConfig
  readonly current: ClusterState
  readonly readable: ReadableDatasources
  /** When the next run starts, and what it decides; undefined if the cluster is settled. */
  readonly nextRun: { readonly inMs: number; readonly forecast: RunForecast } | undefined
  /** Replicas that rules require but the servers cannot load. */
  readonly shortages: readonly Shortage[]
}

async function outlookOf(state: ExplainedState, caller: Caller, forecastOf: ForecastOf): Promise<Outlook> {
  const { clusterState, segments } = state
  const [config, current, readable] = await Promise.all([
    state.config(),
    clusterState.current().then((complete) => complete.shownTo(caller)),
    datasourcesReadableBy(caller, segments.table),
  ])
  const found = { config, current, readable }
  // Nothing has changed since the last run, so the next one finds the same.
  if (current.settled)
    return { ...found, nextRun: undefined, shortages: clusterState.lastShortages(serverPartsOf(config)) }
  const cluster = await clusterOf(state)
  const forecast = await forecastOf(cluster)
  return { ...found, nextRun: { inMs: cluster.nextRun.inMs, forecast }, shortages: shortagesOf(forecast) }
}

async function explainWork(
  state: ExplainedState,
  caller: Caller,
  forecastOf: ForecastOf,
): Promise<ClusterAnswer> {
  const { table } = state.segments
  const [{ config, current, readable, nextRun, shortages }, unavailableServers] = await Promise.all([
    outlookOf(state, caller, forecastOf),
    loadUnavailableServers(state.context),
  ])
  const explained = explainCluster({
    ...current,
    unavailable: unavailableServers,
    isPaused: config.pauseCoordination,
    seesCluster: readable.all,
    shortages: shortageSentences(shortages, shortageView(readable)),
    servers: await workOf(state, readable, config),
    hasUsedSegments: table.datasourceNames.some(
      (_, number) => readable.has(number) && table.usedCountOf(number) > 0,
    ),
    nextRun:
      nextRun === undefined
        ? undefined
        : { inMs: nextRun.inMs, totals: nextRun.forecast.totals(readable.has) },
  })
  return { ...explained, unavailableServers }
}

async function workOf(
  { context, servers, loadMeter, rules, segments: { table } }: ExplainedState,
  { hasRow }: ReadableDatasources,
  config: CoordinatorConfig,
  { withClones = false } = {},
): Promise<(ServerWork & { readonly queue: QueueSize })[]> {
  const current = await rules.current()
  const [parts, nowMs] = [serverPartsOf(config), performance.now()]
  const planned = servers.loadingServers(nowMs, parts)
  const clones = servers.clones(nowMs, parts)
  const stateOf = judgeFailedLoads({
    table,
    rules: current,
    servers: planned,
    clones,
    now: context.clock.now(),
    isPaused: config.pauseCoordination,
  })
  const failed = servers.failedLoads((id) => hasRow(table.rowOf(id)), stateOf)
  const failedOf = new Map(failed.map((one) => [one.name, one]))
  const queues = servers.queues(hasRow)
  // Clones are not planned, so they are not among the servers for planning.
  const members = withClones ? servers.loadingServers(nowMs, { ...parts, clones: new Map() }) : planned
  return members.map((server) => ({
    server,
    queue: queues.get(server.number) ?? emptyQueue,
    rate: loadMeter.rateOf(server.name),
    failedLoads: failedOf.get(server.name) ?? { count: 0, retryable: 0, lastError: undefined },
  }))
}

const emptyQueue: QueueSize = {
  loads: 0,
  loadSizeBytes: 0,
  drops: 0,
  oldestLoadAtMs: Number.POSITIVE_INFINITY,
}

async function explainServer(
  state: ExplainedState,
  name: string,
  caller: Caller,
  forecastOf: ForecastOf,
): Promise<Sentences> {
  const {
    segments: { table },
    servers,
  } = state
  const { config, readable, shortages } = await outlookOf(state, caller, forecastOf)
  const parts = serverPartsOf(config)
  const seen = table.datasourceNames.map((_, number) => readable.has(number))
  const found = servers.get(name)
  const all = await workOf(state, readable, config, { withClones: true })
  const work = all.find(({ server }) => server.name === name)
  const problems = await problemsOf(state, found?.process ?? name)
  if (found === undefined || work === undefined) {
    const known = [...unreportedSentences(state, name), ...problems]
    if (known.length === 0) throw notFound(`Server [${name}] does not exist${waitingText(state)}`)
    return { sentences: [...known, ...leavingSentences(parts, name)] }
  }
  const oldestMs = work.queue.oldestLoadAtMs
  const nowMs = performance.now()
  const source = parts.clones.get(name)
  const { minSizeOf } = shortageView(readable)
  const waiting = shortages.flatMap((shortage) =>
    shortage.tier === found.tier ? (minSizeOf(shortage) ?? []) : [],
  )
  const sentences = explainServerWork({
    ...work,
    servedSegments: readable.all ? found.served.count() : found.served.countOf(seen),
    isPaused: config.pauseCoordination,
    seesCluster: readable.all,
    lastReportAgeMs: nowMs - found.lastReportAtMs,
    oldestLoadAgeMs: Number.isFinite(oldestMs) ? nowMs - oldestMs : undefined,
    cloneOf: source === undefined ? undefined : { source, isAvailable: servers.get(source) !== undefined },
    maxLoadsPerServer: loadingLimitsOf(config, table.usedCount, all.length).maxLoadsPerServer,
    minWaitingBytes: waiting[0],
  })
  return { sentences: [...sentences, ...problems] }
}

async function explainTier(
  state: ExplainedState,
  tier: string,
  caller: Caller,
  forecastOf: ForecastOf,
): Promise<Sentences> {
  const outlook = await outlookOf(state, caller, forecastOf)
  const { config, readable } = outlook
  const parts = serverPartsOf(config)
  const view = shortageView(readable)
  const shortages = outlook.shortages.flatMap((shortage) =>
    shortage.tier === tier ? (shortageSentence(shortage, view) ?? []) : [],
  )
  const all = (await workOf(state, readable, config, { withClones: true })).filter(
    ({ server }) => server.tier === tier && server.type === 'historical',
  )
  const members = all.filter(({ server }) => !parts.clones.has(server.name))
  const clones = all.flatMap((work) => {
    const source = parts.clones.get(work.server.name)
    return source === undefined ? [] : [{ ...work, source }]
  })
  const isNamed = shortages.length > 0
  const unreported = unreportedIn(state, tier)
  const unannounced = unannouncedIn(state)
  const isKnown = isNamed || all.length > 0 || unreported.some((server) => server.tier === tier)
  if (!isKnown)
    throw notFound(
      `Tier [${tier}] does not exist: it has no servers, and no segments that you may read require replicas in it${waitingText(state)}`,
    )
  return {
    sentences: explainTierWork(tier, {
      members,
      clones,
      shortages,
      unreported,
      unannounced,
      isPaused: config.pauseCoordination,
      seesCluster: readable.all,
    }),
  }
}

const leavingSentences = ({ leaving }: ServerParts, name: string): string[] =>
  leaving.has(name) ? ['It is decommissioning, so no segments are assigned to it'] : []

/** Says why a process cannot serve. */
const problemsOf = async ({ context }: ExplainedState, process: string): Promise<string[]> =>
  unavailableSentences((await loadUnavailableServers(context)).filter(({ server }) => server === process))

/** Says what the leader knows about a server that has not reported to it, or stopped reporting. */
function unreportedSentences(state: ExplainedState, name: string): string[] {
  const { servers, reportedServers } = state
  if (reportedServers.awaited().some((server) => server.name === name))
    return [`The leader is waiting for the first report from [${name}]`]
  if (unannouncedIn(state).includes(name))
    return [
      `The leader is waiting for the first report from [${name}], which is in [svc.coordinator.expectedServers] but has not announced itself`,
    ]
  const hosted = servers.servers().filter(({ process }) => process === name)
  if (hosted.length > 0)
    return [
      `[${name}] is a process with ${countOf(hosted.length, 'virtual server')}, for example [${hosted[0]!.name}]`,
    ]
  const lost = servers.lost().find((server) => server.name === name)
  if (lost !== undefined) return [lostText(lost)]
  const ofProcess = servers.lost().filter(({ process }) => process === name)
  return ofProcess.length === 0
    ? []
    : [
        `[${name}] is a process with ${countOf(ofProcess.length, 'virtual server')} that stopped reporting, for example [${ofProcess[0]!.name}]`,
      ]
}

/** Returns the historicals whose segments the leader does not know, and that are or may be in a tier. */
function unreportedIn({ reportedServers, servers }: ExplainedState, tier: string): UnreportedMember[] {
  return [
    ...reportedServers.awaited().map((server) => ({ name: server.name, tier: server.tier, isLost: false })),
    ...servers
      .lost()
      .filter(({ type }) => type === 'historical')
      .map((server) => ({ name: server.name, tier: server.tier, isLost: true })),
  ].filter((server) => server.tier === tier || server.tier === undefined)
}

/** Returns the processes that the configuration expects but that the leader does not know. */
function unannouncedIn({ context: { settings }, servers, reportedServers }: ExplainedState): string[] {
  const expected = settings.get('svc.coordinator.expectedServers')
  if (expected.length === 0) return []
  const known = new Set([
    ...servers.processes(),
    ...reportedServers.awaited().map(({ name }) => name),
    ...servers.lost().map(({ process }) => process),
  ])
  return expected.filter((name) => !known.has(name))
}

/** Says that servers may be missing because they have not reported. Begins with the period of the previous sentence. */
function waitingText(state: ExplainedState): string {
  const awaited = [...state.reportedServers.awaited().map(({ name }) => name), ...unannouncedIn(state)]
  return awaited.length === 0
    ? ''
    : `. The leader is still waiting for reports from ${countOf(awaited.length, 'server')}, for example [${awaited[0]}]`
}

const lostText = ({ name, type, tier, lastReportAtMs }: LostServerState): string =>
  `Server [${name}], a ${type} in tier [${tier}], stopped reporting: it was last seen at ${formatInstant(epochOf(lastReportAtMs))}, and its replicas no longer count`

/** Converts milliseconds of the monotonic clock of this process to epoch milliseconds. */
const epochOf = (ms: number): number => Math.round(performance.timeOrigin + ms)

async function clusterOf(state: ExplainedState): Promise<ExplainedCluster> {
  const { segments, servers, reportedServers, leaderSinceMs } = state
  const { clock, settings } = state.context
  const { untilNextRunMs } = state.loading
  const [current, config] = await Promise.all([
    state.rules.current(),
    state.config(),
    segments.refreshIfChanged(),
  ])
  const nowMs = performance.now()
  const waitsByDefault = settings.get('svc.coordinator.waitBeforeMarkingOvershadowed')
  const waitUntilMs = leaderSinceMs() + overshadowedWaitMs(config, waitsByDefault)
  const parts = serverPartsOf(config)
  const loading = servers.loadingServers(nowMs, parts)
  const clones = servers
    .clones(nowMs, parts)
    .map((clone) => ({ ...clone, sourceName: parts.clones.get(clone.target.name)! }))
  return {
    table: segments.table,
    rules: current,
    servers: loading,
    clones,
    limits: loadingLimitsOf(config, segments.table.usedCount, loading.length),
    now: clock.now(),
    isPaused: config.pauseCoordination,
    seesCluster: true,
    awaited: reportedServers.awaited(),
    unannounced: unannouncedIn(state),
    lost: servers
      .lost()
      .filter(({ type }) => type === 'historical')
      .map(
        ({ name, tier, lastReportAtMs }): LostServer => ({
          name,
          tier,
          lastSeenAt: epochOf(lastReportAtMs),
        }),
      ),
    overshadowedWaitUntil: waitUntilMs > nowMs + untilNextRunMs() ? epochOf(waitUntilMs) : undefined,
    nextRun: { at: Math.round(Date.now() + untilNextRunMs()), inMs: untilNextRunMs() },
    rateOf: state.loadMeter.rateOf,
    failureOf: (server, row) => {
      const failure = servers.failureOf(server, row)
      if (failure === undefined) return undefined
      const { message, failures, atMs, retryAtMs } = failure
      return {
        failures,
        isResting: nowMs < retryAtMs,
        error: message ?? 'the server did not respond in time',
        at: epochOf(atMs),
        retryAt: epochOf(retryAtMs),
      }
    },
  }
}

/** The answer of an explanation. Callers who may not read servers see only those that have the segment. */
function answerOf(explained: SegmentExplanation, canReadServers: boolean): ExplanationAnswer {
  const { segment, dataSource, interval, sizeBytes, state, summary, causes, tiers, omittedTiers, rules } =
    explained
  const { matched, passed, omitted } = rules
  const servers = canReadServers ? explained.servers : explained.servers.filter(hasSegment)
  return {
    segment,
    dataSource,
    interval: formatInterval(interval),
    sizeBytes,
    state,
    summary,
    causes,
    rule: placed(matched),
    earlierRules: passed.map((rule) => ({ ...placed(rule), text: rule.text })),
    omittedRules: omitted,
    tiers: tiers.map(({ candidates, ...tier }) => ({ ...tier, ...(canReadServers ? { candidates } : {}) })),
    omittedTiers,
    servers: servers.map(serverAnswer),
    omittedServers: explained.omittedServers + explained.servers.length - servers.length,
    next: explained.next
      .filter(({ code }) => canReadServers || code === 'ruleChange' || code === 'markUnused')
      .map(({ at, doneAt, ...event }) => ({
        ...event,
        ...(at === undefined ? {} : { at: formatInstant(at) }),
        ...(doneAt === undefined ? {} : { doneAt: formatInstant(doneAt) }),
      })),
  }
}

const hasSegment = ({ state }: ServerFinding): boolean =>
  state === 'serves' || state === 'loads' || state === 'drops'

const placed = ({ number, place, source, rule }: PlacedRule): AnsweredRule => ({
  number,
  place,
  source,
  rule: formatRule(rule),
})

const serverAnswer = ({ failure, ...finding }: ServerFinding): AnsweredServer => ({
  ...finding,
  ...(failure === undefined
    ? {}
    : {
        failure: {
          failures: failure.failures,
          error: failure.error,
          at: formatInstant(failure.at),
          retryAt: formatInstant(failure.retryAt),
        },
      }),
})

/** What was found about the used segments of an interval. */
interface IntervalFindings {
  readonly dataSource: string
  readonly interval: string
  readonly segments: number
  readonly summary: string
  readonly states: Readonly<Record<string, number>>
  readonly explained: number
  readonly notLoaded: readonly object[]
}

/** Explains the segments that overlap an interval, oldest first. Yields regularly. */
function* explainInterval(
  cluster: ExplainedCluster,
  forecast: RunForecast,
  dataSource: string,
  interval: Interval,
): Generator<undefined, IntervalFindings> {
  const { table } = cluster
  const explainer = new SegmentExplainer(cluster, forecast)
  const number = table.datasourceNumber(dataSource)
  const states: Record<string, number> = {}
  const listed: object[] = []
  let explainedCount = 0
  let count = 0
  for (const group of number < 0 ? [] : table.groupsOf(number)) {
    if (table.startOf[group]! >= interval.end || table.endOf[group]! <= interval.start) continue
    const rows: number[] = []
    table.forEachRow(group, (row) => rows.push(row))
    count += rows.length
    for (const row of rows.slice(0, Math.max(0, maxExplained - explainedCount))) {
      yield
      const { segment, state, summary, causes } = explainer.stateOf(row)
      explainedCount += 1
      states[state] = (states[state] ?? 0) + 1
      if (state !== 'loaded' && listed.length < maxListed) listed.push({ segment, state, summary, causes })
    }
  }
  return {
    dataSource,
    interval: formatInterval(interval),
    segments: count,
    summary: intervalSummary(count, explainedCount, states),
    states,
    explained: explainedCount,
    notLoaded: listed,
  }
}

const stateTexts: Readonly<Record<SegmentExplanation['state'], string>> = {
  loaded: 'loaded',
  partial: 'under-replicated',
  missing: 'unavailable',
  unwanted: 'not loaded by any rule',
  overshadowed: 'overshadowed',
}

function intervalSummary(count: number, explained: number, states: Readonly<Record<string, number>>): string {
  if (count === 0) return 'No used segments'
  const parts = Object.entries(states).map(
    ([state, number]) => `${number} ${stateTexts[state as SegmentExplanation['state']]}`,
  )
  const of = explained < count ? ` (the first ${explained} were examined)` : ''
  return `${countOf(count, 'used segment')}: ${parts.join(', ')}${of}`
}

/** The unused segments of an interval, by cause, and the summary with their number. */
function unusedIn(counts: readonly UnusedCount[], summary: string, caller: Caller) {
  const total = counts.reduce((sum, { segments }) => sum + segments, 0)
  return {
    summary: total === 0 ? summary : `${summary}; ${countOf(total, 'unused segment')}`,
    unused: counts.map(({ segments, example }) => ({
      code: example.cause?.kind ?? 'unknown',
      segments,
      example: { segment: example.id, text: unusedTexts(example, caller).text },
    })),
  }
}

/** Says why a segment is unused, with and without the time. */
function unusedTexts({ since, cause: recorded }: UnusedCount['example'], caller: Caller) {
  const cause = unusedText(recorded, caller.can('READ', 'CONFIG', 'CONFIG'))
  const state = since === null ? 'is unused' : `has been unused since ${formatInstant(since)}`
  return { cause, text: `The segment ${state}${recorded === null ? ` (${cause})` : `: ${cause}`}` }
}

/** Whether an unused segment can be used again, and what prevents it. */
async function returnText(
  { rules, now, table, isPaused }: ExplainedCluster,
  dataSource: string,
  segment: UnusedCount['example'],
): Promise<string> {
  if (await finishInSlices(wouldBeOvershadowed(table, dataSource, { ...segment, partitions: 1 })))
    return 'It can be marked as used once the used segments that overshadow it are unused'
  const { matched } = explainRules(rules, dataSource, segment.interval, now)
  if (describeWantedCopies(matched.rule).action === 'drop')
    return `If the segment is marked as used, the next run${isPaused ? ' after the pause' : ''} marks it as unused again, because it matches ${describeRule(matched)}`
  return 'The segment can be marked as used until its data is deleted'
}

/** Callers who may not read the audit do not see who requested it. */
function unusedText(cause: UnusedCause | null, canReadAudit: boolean): string {
  switch (cause?.kind) {
    case undefined:
      return 'the cause was not recorded'
    case 'dropRule':
      return `the drop rule ${cause.rule} applied (${auditText(cause)})`
    case 'overshadowed':
      return `segments of version [${cause.byVersion}] replaced it`
    case 'request':
      return `${canReadAudit ? `user [${cause.identity}]` : 'a user'} marked it as unused`
    case 'task':
      return `task [${shownTaskId(cause.taskId)}] marked it as unused`
    case 'import':
      return 'it was already unused in the cluster that it was imported from, which does not show why'
  }
}
