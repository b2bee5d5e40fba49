import { forbidden, unavailable } from '@svc/domain/failure'
import {
  decidePreview,
  formatSummary,
  groupGivenSegments,
  type PreviewRequest,
  type PreviewResult,
  type PreviewSegments,
  type PreviewWarning,
  pageOfRows,
  parsePreviewRequest,
  previewDatasource,
  rowsInPlaces,
  warningsOfList,
} from '@svc/domain/preview'
import { defaultRulesName, type Rule, type RulesByName } from '@svc/domain/rules'
import { formatInstant } from '@svc/domain/time'
import { serverPartsOf } from '@svc/shared/coordinator-config'
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
import { liveDatasources, liveServers } from './live-cluster.ts'

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

const withoutSegments = (dataSource: string): PreviewSegments => ({
  dataSource,
  count: 0,
  start: () => 0,
  end: () => 0,
  sizeBytes: () => 0,
  version: () => '',
  partitionNum: () => 0,
  isOvershadowed: () => false,
  forEachCopy: () => undefined,
})

/** State of the cluster that previews are based on. */
interface PreviewedCluster {
  readonly context: ServiceContext
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
  { context, leadership, segments, servers, rules }: PreviewedCluster,
  clusterState: Pick<ClusterStateTracker, 'unknownReasons'>,
): Previews {
  const { clock, database } = context
  const { table } = segments
  const slices = createSlices()

  async function liveCluster() {
    const config = await loadCoordinatorConfig(database)
    return servers.loadingServers(performance.now(), serverPartsOf(config))
  }

  async function answer(
    json: unknown,
    { full, offset, limit, buckets }: PreviewPage,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<string> {
    const now = clock.now()
    const request = await slices.run(() => parsePreviewRequest(json, now), signal)
    refuseUnreadable(request, caller)
    const { segments: given } = request
    const [stored, loading] = await Promise.all([
      rules.current(),
      liveCluster(),
      given === undefined ? segments.refresh() : undefined,
    ])
    const reasons = given && request.servers ? [] : clusterState.unknownReasons()
    if (reasons.length > 0) {
      return JSON.stringify({ now: formatInstant(request.now ?? now), known: false, reasons })
    }
    const rulesOf = (dataSource: string): readonly Rule[] => rulesAfter(request, stored, dataSource)
    const defaults = request.defaultRules ?? stored.get(defaultRulesName)
    if (defaults === undefined) throw unavailable('The default rules have not been stored yet')

    return await slices.run(function* () {
      const groups = given && (yield* groupGivenSegments(given))
      const live = groups ? [] : yield* liveDatasources(table, table.datasourceNames.keys(), loading)
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
      if (present.size === 0 && missing.length === 0) missing.push(previewDatasource)
      for (const name of missing) {
        subjects.push({ segments: withoutSegments(name), columns: undefined, own: rulesOf(name), defaults })
      }
      const all = subjects.map((subject) => subject.segments.dataSource)
      const isForAll =
        groups !== undefined || Array.isArray(request.rules) || request.defaultRules !== undefined
      const readable = (name: string): boolean => caller.can('READ', 'DATASOURCE', name)
      const concerned = new Set(
        groups !== undefined ? all : isForAll ? all.filter(readable) : [...named, ...missing],
      )
      const before = groups === undefined ? liveServers(loading) : []
      const result = yield* decidePreview({
        now: request.now ?? now,
        datasources: subjects,
        servers: request.servers ?? liveServers(loading),
        serversBefore: before,
        concerned,
        defaultsChange: request.defaultRules !== undefined,
        knownDatasources: [...present].filter(readable),
        horizon: request.horizon,
        buckets,
      })
      for (const [index, one] of live.entries()) one.keep(result.outcome.datasources[index]!.columns)
      const parts = [`{"now":${JSON.stringify(formatInstant(request.now ?? now))},"known":true`]
      if (groups !== undefined) {
        const places = subjects.map((_, index) => groups[index]?.places ?? [])
        parts.push(',"segments":[', yield* inSlices(yield* rowsInPlaces(result, places)), ']')
      } else if (full) {
        const { rows, total } = yield* pageOfRows(result, { offset, limit })
        parts.push(`,"segmentsTotal":${total},"segments":[`, yield* inSlices(rows), ']')
      }
      // Only callers who may read the state of the cluster see the totals of its tiers. Anyone may see those of given servers.
      const withTiers =
        caller.can('READ', 'STATE', 'STATE') || (groups !== undefined && request.servers !== undefined)
      parts.push(',"summary":', yield* jsonInSlices(formatSummary(result, withTiers)))
      parts.push(',"warnings":[', yield* inSlices(result.warnings), ']}')
      return parts.join('')
    }, signal)
  }

  async function warningsOf(dataSource: string, signal: AbortSignal): Promise<readonly PreviewWarning[]> {
    const isForAll = dataSource === defaultRulesName
    if (leadership.term() === undefined) {
      // Only the leader knows the servers and segments, so check the rules alone.
      const list = (await rules.current()).get(dataSource) ?? []
      return await slices.run(() => warningsOfList(dataSource, list, clock.now()), signal)
    }
    const [stored, loading] = await Promise.all([rules.current(), liveCluster(), segments.refresh()])
    if (clusterState.unknownReasons().length > 0) {
      return await slices.run(
        () => warningsOfList(dataSource, stored.get(dataSource) ?? [], clock.now()),
        signal,
      )
    }
    const defaults = stored.get(defaultRulesName) ?? []
    return await slices.run(function* () {
      const wanted = isForAll ? table.datasourceNames.keys() : [table.datasourceNumber(dataSource)]
      const live = yield* liveDatasources(table, wanted, [])
      const names = live.map((one) => one.segments.dataSource)
      const subjects: Subject[] = live.map(({ segments: own, columns }) => ({
        segments: own,
        columns,
        own: stored.get(own.dataSource) ?? [],
        defaults,
      }))
      if (names.length === 0) {
        const own = isForAll ? [] : (stored.get(dataSource) ?? [])
        const name = isForAll ? previewDatasource : dataSource
        subjects.push({ segments: withoutSegments(name), columns: undefined, own, defaults })
      }
      const result = yield* decidePreview({
        now: clock.now(),
        datasources: subjects,
        servers: liveServers(loading),
        serversBefore: [],
        concerned: new Set(subjects.map((subject) => subject.segments.dataSource)),
        defaultsChange: isForAll,
        knownDatasources: [],
        horizon: undefined,
      })
      for (const [index, one] of live.entries()) one.keep(result.outcome.datasources[index]!.columns)
      return result.warnings
    }, signal)
  }

  return { answer, warningsOf }
}

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
      throw forbidden(`The permission [READ] on [DATASOURCE] [${name}] is missing`)
  }
}

function rulesAfter({ rules }: PreviewRequest, stored: RulesByName, dataSource: string): readonly Rule[] {
  if (isListForAll(rules)) return rules
  return rules.get(dataSource) ?? stored.get(dataSource) ?? []
}

/** Returns the JSON of an object. Pauses between the entries of large objects. */
function* jsonInSlices(value: object, depth = 2): Generator<undefined, string> {
  yield
  if (depth === 0) return JSON.stringify(value)
  const parts: string[] = []
  for (const [key, entry] of Object.entries(value)) {
    const text =
      typeof entry === 'object' && entry !== null
        ? yield* jsonInSlices(entry, depth - 1)
        : JSON.stringify(entry)
    parts.push(Array.isArray(value) ? text : `${JSON.stringify(key)}:${text}`)
  }
  return Array.isArray(value) ? `[${parts.join(',')}]` : `{${parts.join(',')}}`
}

// Characters of JSON that are produced between two pauses.
const textSlice = 200_000

function* inSlices(entries: readonly object[]): Generator<undefined, string> {
  const parts: string[] = []
  let length = 0
  for (const entry of entries) {
    const text = JSON.stringify(entry)
    parts.push(text)
    length += text.length
    if (length >= textSlice) {
      length = 0
      yield
    }
  }
  return parts.join(',')
}
