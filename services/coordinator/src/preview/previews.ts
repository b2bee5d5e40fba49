import { missingPermission } from '@svc/domain/access'
import { unavailable } from '@svc/domain/failure'
import type { SegmentTable } from '@svc/domain/inventory'
import type { LoadRate } from '@svc/domain/load-duration'
import {
  decidePreview,
  formatSummary,
  groupGivenSegments,
  keptByRules,
  type PreviewQuestion,
  type PreviewRequest,
  type PreviewResult,
  type PreviewSegments,
  type PreviewWarning,
  pageOfRows,
  parsePreviewRequest,
  previewDatasource,
  Restorable,
  rowsInPlaces,
  visibleAmong,
  warningsOfList,
  withRestored,
} from '@svc/domain/preview'
import { defaultRulesName, type Rule, type RulesByName } from '@svc/domain/rules'
import { formatInstant } from '@svc/domain/time'
import { loadingLimitsOf, serverPartsOf } from '@svc/shared/coordinator-config'
import type { Caller } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { createSlices } from '@svc/shared/slices'
import type { ClusterStateTracker } from '../cluster-state/index.ts'
import {
  type FollowedRules,
  loadCoordinatorConfig,
  type SegmentInventory,
  type ServerInventory,
} from '../inventory/index.ts'
import type { Leadership } from '../leadership/index.ts'
import { jsonInSlices } from './json-in-slices.ts'
import { type LiveDatasource, liveDatasources, liveServers } from './live-cluster.ts'
import { type LoadingState, loadTimeOf } from './load-time.ts'
import { loadUnusedInStore, type UnusedInStore } from './unused-in-store.ts'

/** What the answer includes in addition: a page of the segments of the live cluster, and bytes over time. */
export interface PreviewPage {
  /** Maximum number of buckets. */
  readonly buckets?: number | undefined
  readonly full: boolean
  readonly offset: number
  readonly limit: number
}

/** Previews what a change of rules would do. */
export interface Previews {
  /** Returns the answer to a request as a JSON string. */
  answer(json: unknown, page: PreviewPage, caller: Caller, signal: AbortSignal): Promise<string>
  /** Returns warnings about the current rules of a datasource or about the cluster default rules. */
  warningsOf(dataSource: string, signal: AbortSignal): Promise<readonly PreviewWarning[]>
}

/** A datasource in a preview, with its rules after the change. */
interface Subject {
  readonly segments: PreviewSegments
  readonly columns: PreviewResult['outcome']['datasources'][number]['columns'] | undefined
  readonly own: readonly Rule[]
  readonly defaults: readonly Rule[]
}

const withoutSegments = (dataSource: string, own: readonly Rule[], defaults: readonly Rule[]): Subject => ({
  segments: {
    dataSource,
    count: 0,
    start: () => 0,
    end: () => 0,
    sizeBytes: () => 0,
    version: () => '',
    partitionNum: () => 0,
    isOvershadowed: () => false,
    forEachCopy: () => undefined,
  },
  columns: undefined,
  own,
  defaults,
})

/** State of the cluster that previews are based on. */
interface PreviewedCluster {
  readonly context: Pick<ServiceContext, 'clock' | 'database' | 'settings'>
  readonly leadership: Leadership
  readonly segments: SegmentInventory
  readonly servers: ServerInventory
  readonly rules: FollowedRules
}

/**
 * Creates previews of the state that the leader knows. They run one at a time, in slices. Nothing is previewed before
 * the leader knows the cluster.
 */
export function createPreviews(
  { context: { clock, database, settings }, leadership, segments, servers, rules }: PreviewedCluster,
  clusterState: Pick<ClusterStateTracker, 'unknownReasons'>,
  rateOf: (server: string) => LoadRate | undefined = () => undefined,
): Previews {
  const { table } = segments
  const slices = createSlices()

  async function loadingState(): Promise<LoadingState> {
    const config = await loadCoordinatorConfig(database)
    const loading = servers.loadingServers(performance.now(), serverPartsOf(config))
    const periodMs = settings.get('svc.coordinator.period')
    const limits = { ...loadingLimitsOf(config, table.usedCount, loading.length), periodMs }
    return { servers: loading, limits, rateOf }
  }

  return {
    answer: async (json, page, caller, signal) => {
      const now = clock.now()
      const request = await slices.run(() => parsePreviewRequest(json, now), signal)
      refuseUnreadable(request, caller)
      const concerned = isForAll(request) ? undefined : namesIn(request)
      const [stored, loading, unused] = await Promise.all([
        rules.current(),
        loadingState(),
        request.segments === undefined ? loadUnusedInStore(database, request, concerned) : undefined,
        request.segments === undefined ? segments.refresh() : undefined,
      ])
      const reasons = request.segments && request.servers ? [] : clusterState.unknownReasons()
      if (reasons.length > 0)
        return JSON.stringify({ now: formatInstant(request.now ?? now), known: false, reasons })
      const defaults = request.defaultRules ?? stored.get(defaultRulesName)
      if (defaults === undefined) throw unavailable('The default rules have not been stored yet')
      const state = { table, loading, rules: stored, now, unused }
      return await slices.run(() => answerRequest(request, defaults, state, page, caller), signal)
    },
    warningsOf: async (dataSource, signal) => {
      // Only the leader knows the servers and segments. Otherwise, check the rules alone.
      const checkAlone = (list: readonly Rule[] = []) =>
        slices.run(() => warningsOfList(dataSource, list, clock.now()), signal)
      if (leadership.term() === undefined) return await checkAlone((await rules.current()).get(dataSource))
      const [stored, loading] = await Promise.all([rules.current(), loadingState(), segments.refresh()])
      if (clusterState.unknownReasons().length > 0) return await checkAlone(stored.get(dataSource))
      return await slices.run(
        () => warningsOfStored(dataSource, { table, loading, rules: stored, now: clock.now() }),
        signal,
      )
    },
  }
}

/** The live cluster at one time. */
interface LiveState {
  readonly table: SegmentTable
  readonly loading: LoadingState
  readonly rules: RulesByName
  readonly now: number
  /** What drop rules marked as unused, if the request is about the cluster's segments. */
  readonly unused?: UnusedInStore | undefined
}

/** Returns the answer to a request as JSON. `defaults` are the cluster's default rules after the change. */
function* answerRequest(
  request: PreviewRequest,
  defaults: readonly Rule[],
  { table, loading, rules, now, unused }: LiveState,
  { full, offset, limit, buckets }: PreviewPage,
  caller: Caller,
): Generator<undefined, string> {
  const { servers } = loading
  const groups = request.segments && (yield* groupGivenSegments(request.segments))
  const live = groups ? [] : yield* liveDatasources(table, table.datasourceNames.keys(), servers)
  const rulesOf = (dataSource: string): readonly Rule[] => rulesAfter(request, rules, dataSource)
  const subjects: Subject[] = (groups ?? live).map((one) => ({
    segments: one.segments,
    columns: 'columns' in one ? one.columns : undefined,
    own: rulesOf(one.segments.dataSource),
    defaults,
  }))
  const named = namesIn(request)
  const present = new Set(subjects.map((subject) => subject.segments.dataSource))
  // Rules can be previewed before a datasource has data.
  const missing = named.filter((name) => !present.has(name))
  const readable = (name: string): boolean => caller.can('READ', 'DATASOURCE', name)
  const isConcerned =
    groups === undefined && isForAll(request) ? readable : (name: string) => named.includes(name)
  if (request.markUsedSince !== undefined) {
    for (const name of new Set([...(unused?.unused.keys() ?? []), ...(unused?.killed.keys() ?? [])]))
      if (!present.has(name) && !named.includes(name) && isConcerned(name)) missing.push(name)
  }
  if (present.size === 0 && missing.length === 0) missing.push(previewDatasource)
  for (const name of missing) subjects.push(withoutSegments(name, rulesOf(name), defaults))
  const restorable = new Restorable(request.markUsedSince !== undefined)
  for (const [index, subject] of subjects.entries()) {
    if (!isConcerned(subject.segments.dataSource)) continue
    subjects[index] = yield* addRestorable(restorable, subject, request.now ?? now, unused)
  }
  const result = yield* decideAndKeep(live, {
    now: request.now ?? now,
    datasources: subjects,
    servers: request.servers ?? liveServers(servers),
    serversBefore: groups === undefined ? liveServers(servers) : [],
    concerned: new Set(
      groups === undefined && isForAll(request)
        ? [...present, ...missing].filter(readable)
        : [...named, ...missing],
    ),
    defaultsChange: request.defaultRules !== undefined,
    knownDatasources: [...present].filter(readable),
    horizon: request.horizon,
    buckets,
  })
  // Only callers who may read the state of the cluster see the totals of its tiers. Anyone may see those of given servers.
  const withTiers =
    caller.can('READ', 'STATE', 'STATE') || (groups !== undefined && request.servers !== undefined)
  return yield* jsonInSlices({
    now: formatInstant(request.now ?? now),
    known: true,
    ...(groups
      ? {
          segments: yield* rowsInPlaces(
            result,
            subjects.map((_, index) => groups[index]?.places ?? []),
          ),
        }
      : full
        ? yield* pageOfSegments(result, offset, limit)
        : {}),
    summary: {
      ...formatSummary(result, withTiers),
      ...(unused === undefined ? {} : { restorable: restorable.format() }),
      ...(groups === undefined && withTiers ? { loadTime: loadTimeOf(result, loading) } : {}),
    },
    warnings: [...result.warnings, ...restorable.warnings],
  })
}

/** Adds what the rules of a datasource keep of its unused segments, and returns it with them if they are included. */
function* addRestorable(
  restorable: Restorable,
  subject: Subject,
  now: number,
  unused: UnusedInStore | undefined,
): Generator<undefined, Subject> {
  const { dataSource } = subject.segments
  const rules = { own: subject.own, defaults: subject.defaults, now }
  const kept = yield* visibleAmong(keptByRules(unused?.unused.get(dataSource) ?? [], rules), subject.segments)
  restorable.add(dataSource, kept, keptByRules(unused?.killed.get(dataSource) ?? [], rules))
  if (!restorable.included || kept.length === 0) return subject
  return { ...subject, segments: withRestored(subject.segments, kept), columns: undefined }
}

/** Returns warnings about the current rules of a datasource or about the cluster default rules. */
function* warningsOfStored(
  dataSource: string,
  { table, loading, rules, now }: LiveState,
): Generator<undefined, readonly PreviewWarning[]> {
  const isDefault = dataSource === defaultRulesName
  const defaults = rules.get(defaultRulesName) ?? []
  const wanted = isDefault ? table.datasourceNames.keys() : [table.datasourceNumber(dataSource)]
  const live = yield* liveDatasources(table, wanted, [])
  const subjects: Subject[] = live.map(({ segments, columns }) => ({
    segments,
    columns,
    own: rules.get(segments.dataSource) ?? [],
    defaults,
  }))
  if (subjects.length === 0)
    subjects.push(
      isDefault
        ? withoutSegments(previewDatasource, [], defaults)
        : withoutSegments(dataSource, rules.get(dataSource) ?? [], defaults),
    )
  const result = yield* decideAndKeep(live, {
    now,
    datasources: subjects,
    servers: liveServers(loading.servers),
    serversBefore: [],
    concerned: new Set(subjects.map((subject) => subject.segments.dataSource)),
    defaultsChange: isDefault,
    knownDatasources: [],
    horizon: undefined,
  })
  return result.warnings
}

/** Decides a preview, and keeps the columns of live datasources for the next one. */
function* decideAndKeep(
  live: readonly LiveDatasource[],
  question: PreviewQuestion,
): Generator<undefined, PreviewResult> {
  const result = yield* decidePreview(question)
  for (const [index, one] of live.entries()) {
    const { segments, columns } = result.outcome.datasources[index]!
    // Segments that would be marked used are only in this preview.
    if (segments === one.segments) one.keep(columns)
  }
  return result
}

/** Returns a page of the segments in the answer, and their total number. */
function* pageOfSegments(result: PreviewResult, offset: number, limit: number) {
  const { rows, total } = yield* pageOfRows(result, { offset, limit })
  return { segmentsTotal: total, segments: rows }
}

/** Whether a request changes the rules of all datasources. */
const isForAll = ({ rules, defaultRules }: PreviewRequest): boolean =>
  isListForAll(rules) || defaultRules !== undefined

/** Returns the datasources that a request names. */
function namesIn({ rules, segments }: PreviewRequest): string[] {
  const named = isListForAll(rules) ? [] : [...rules.keys()].filter((name) => name !== defaultRulesName)
  const given = (segments ?? []).map(({ dataSource }) => dataSource)
  return [...new Set([...named, ...given])]
}

const isListForAll = (rules: PreviewRequest['rules']): rules is readonly Rule[] => Array.isArray(rules)

/** Throws forbidden if the caller may not read a datasource that the request names. The placeholder name needs no permission. */
function refuseUnreadable(request: PreviewRequest, caller: Caller): void {
  for (const name of namesIn(request)) {
    if (name !== previewDatasource && !caller.can('READ', 'DATASOURCE', name))
      throw missingPermission('READ', 'DATASOURCE', name)
  }
}

function rulesAfter({ rules }: PreviewRequest, stored: RulesByName, dataSource: string): readonly Rule[] {
  if (isListForAll(rules)) return rules
  return rules.get(dataSource) ?? stored.get(dataSource) ?? []
}
