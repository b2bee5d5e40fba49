import { missingPermission } from '@svc/domain/access'
import { unavailable } from '@svc/domain/failure'
import type { LoadRate } from '@svc/domain/load-time'
import {
  type DecidedRequest,
  decideRequest,
  formatDecided,
  formatSummary,
  isForAll,
  namesIn,
  type PreviewedCluster,
  type PreviewPage,
  type PreviewReader,
  type PreviewRequest,
  type PreviewWarning,
  parsePreviewRequest,
  previewDatasource,
  warningsOfList,
  warningsOfStored,
} from '@svc/domain/preview'
import { defaultRulesName, type Rule } from '@svc/domain/rules'
import {
  type LimitedEffects,
  limitsLosses,
  policyViolations,
  type RulesPolicy,
  shownViolations,
  violationsText,
} from '@svc/domain/rules-policy'
import { formatInstant } from '@svc/domain/time'
import { loadingLimitsOf, serverPartsOf } from '@svc/shared/coordinator-dynamic-config'
import { accessTo, type Caller, mayAccess, permittedNames } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { createSlices } from '@svc/shared/slices'
import { formatInPieces } from '@svc/shared/wire'
import type { ClusterStateTracker } from '../cluster-state/index.ts'
import {
  type FollowedRules,
  loadCoordinatorConfig,
  type SegmentInventory,
  type ServerInventory,
} from '../inventory/index.ts'
import type { Leadership } from '../leadership/index.ts'
import { type LiveState, liveCluster } from './live-cluster.ts'
import { type LoadingState, loadTimeOf } from './load-time.ts'
import { loadUnusedInStore } from './unused-in-store.ts'

/** Previews what a rule change would do. */
export interface Previews {
  /** Returns the answer to a request as a JSON string. */
  answer(json: unknown, page: PreviewPage, caller: Caller, signal: AbortSignal): Promise<string>
  /**
   * Returns the summary of a change to the rules of a datasource or to the cluster default rules, with all datasources that
   * it affects. Throws unavailable until the cluster is known.
   */
  summaryOf(dataSource: string, rules: readonly Rule[], signal: AbortSignal): Promise<LimitedEffects>
  /**
   * Returns warnings about the current rules of a datasource or about the cluster default rules, without those about data that
   * the caller may not read.
   */
  warningsOf(dataSource: string, caller: Caller, signal: AbortSignal): Promise<readonly PreviewWarning[]>
}

/** State of the cluster that previews are based on. */
interface PreviewedState {
  readonly context: Pick<ServiceContext, 'clock' | 'database' | 'settings'>
  readonly leadership: Leadership
  readonly segments: SegmentInventory
  readonly servers: ServerInventory
  readonly rules: FollowedRules
}

/** What the leader knows about loading. */
interface LoadingKnowledge {
  /** Returns how fast a server loads segments, or undefined if that has not been measured. */
  rateOf(server: string): LoadRate | undefined
  /** Returns the time until the coordinator runs again. */
  untilNextRunMs(): number
}

/**
 * Creates previews of the state that the leader knows. They run one at a time, in slices. Nothing is previewed before
 * the leader knows the cluster.
 */
export function createPreviews(
  state: PreviewedState,
  clusterState: Pick<ClusterStateTracker, 'unknownReasons'>,
  knowledge: LoadingKnowledge = { rateOf: () => undefined, untilNextRunMs: () => 0 },
): Previews {
  const { leadership, segments, rules } = state
  const { clock, database } = state.context
  const { table } = segments
  const slices = createSlices()
  const policy = state.context.settings.get('svc.coordinator.rules.policy')
  const { loadingState, liveState } = createStateReader(state, knowledge)

  return {
    answer: async (json, page, caller, signal) => {
      const now = clock.now()
      const request = await slices.run(() => parsePreviewRequest(json, now), signal)
      await slices.run(() => refuseUnreadable(request, caller), signal)
      const isOfCluster = request.segments === undefined
      const changed = isForAll(request) ? undefined : namesIn(request)
      const [stored, loading, unused] = await Promise.all([
        rules.current(),
        loadingState(),
        isOfCluster ? loadUnusedInStore(database, request, changed) : undefined,
        request.segments === undefined ? segments.refresh() : undefined,
      ])
      const reasons = request.segments && request.servers ? [] : clusterState.unknownReasons()
      if (reasons.length > 0)
        return JSON.stringify({ now: formatInstant(request.now ?? now), known: false, reasons })
      const names = isOfCluster ? table.datasourceNames : []
      const reader = await readerOf(caller, [...names, ...namesIn(request)])
      const mayChange = policy !== undefined && (await mayMakeChange(request, caller))
      const live = { table, servers: loading.servers, rules: stored, now }
      return await slices.run(function* () {
        const cluster = yield* liveCluster(live, names.keys())
        return yield* answerPieces(policy, { request, page, reader, mayChange, cluster, loading, unused })
      }, signal)
    },
    summaryOf: async (dataSource, list, signal) => {
      const live = await liveState()
      const reasons =
        leadership.term() === undefined ? ['this server is not the leader'] : clusterState.unknownReasons()
      if (reasons.length > 0)
        throw unavailable(`The rules cannot be checked because their effect is unknown: ${reasons[0]}`)
      return await slices.run(() => summaryOfChange(live, dataSource, list), signal)
    },
    warningsOf: async (dataSource, caller, signal) => {
      // Only the leader knows the servers and segments. Otherwise, check the rules alone.
      const checkAlone = (list: readonly Rule[] = []) =>
        slices.run(() => warningsOfList(dataSource, list, clock.now()), signal)
      const isDefault = dataSource === defaultRulesName
      const isShown = isDefault || (await mayAccess(caller, dataSource, 'SEE'))
      if (leadership.term() === undefined || !isShown)
        return await checkAlone((await rules.current()).get(dataSource))
      const live = await liveState()
      if (clusterState.unknownReasons().length > 0) return await checkAlone(live.rules.get(dataSource))
      const sees = await accessTo(caller, isDefault ? table.datasourceNames : [dataSource], 'SEE')
      const numbers = isDefault ? table.datasourceNames.keys() : [table.datasourceNumber(dataSource)]
      return await slices.run(function* () {
        return yield* warningsOfStored(dataSource, yield* liveCluster(live, numbers), sees)
      }, signal)
    },
  }
}

/** Decides a request, and returns the answer as JSON. Yields regularly. */
function* answerPieces(
  policy: RulesPolicy | undefined,
  {
    request,
    page,
    reader,
    mayChange,
    cluster,
    loading,
    unused,
  }: {
    readonly request: PreviewRequest
    readonly page: PreviewPage
    readonly reader: PreviewReader
    readonly mayChange: boolean
    readonly cluster: PreviewedCluster
    readonly loading: LoadingState
    readonly unused: Awaited<ReturnType<typeof loadUnusedInStore>> | undefined
  },
) {
  const decided = yield* decideRequest(request, cluster, reader, { buckets: page.buckets, unused })
  const { withTiers, result } = decided
  const isOfCluster = request.segments === undefined
  const more = isOfCluster && withTiers ? { loadTime: loadTimeOf(result, loading) } : {}
  const answer = yield* formatDecided(decided, page, more)
  const forbidden = isOfCluster
    ? yield* policyWarnings(policy, request, answer, decided, { cluster, mayChange })
    : []
  return yield* formatInPieces({
    ...answer,
    warnings: [...forbidden, ...(answer.warnings as readonly PreviewWarning[])],
  })
}

/** Returns whether a caller may make the change that a request previews. */
async function mayMakeChange(request: PreviewRequest, caller: Caller): Promise<boolean> {
  const names = [...namesIn(request), ...(request.defaultRules === undefined ? [] : [defaultRulesName])]
  return (await permittedNames(caller, names, 'WRITE')).length === names.length
}

/** Checks all effects of a change, also those that the caller may not read, if the caller may make it. */
function* policyWarnings(
  policy: RulesPolicy | undefined,
  request: PreviewRequest,
  { summary }: Record<string, unknown>,
  { isPartial }: DecidedRequest,
  { cluster, mayChange }: { readonly cluster: PreviewedCluster; readonly mayChange: boolean },
) {
  if (policy === undefined) return []
  const checksAll = isPartial && limitsLosses(policy) && mayChange
  const complete = checksAll ? yield* decideRequest(request, cluster, readsEverything) : undefined
  return warningsOfPolicy(policy, request, {
    summary: summary as LimitedEffects,
    complete: complete && limitedEffectsOf(complete),
    isPartial,
  })
}

/** Returns functions that read the state of the cluster that the leader knows. */
function createStateReader(
  { context: { clock, database, settings }, segments, servers, rules }: PreviewedState,
  { rateOf, untilNextRunMs }: LoadingKnowledge,
) {
  const { table } = segments

  async function loadingState(): Promise<LoadingState> {
    const config = await loadCoordinatorConfig(database)
    const loading = servers.loadingServers(performance.now(), serverPartsOf(config))
    const times = { periodMs: settings.get('svc.coordinator.period'), untilNextRunMs: untilNextRunMs() }
    const limits = { ...loadingLimitsOf(config, table.usedCount, loading.length), ...times }
    return { servers: loading, limits, rateOf }
  }

  async function liveState(): Promise<LiveState> {
    const [stored, loading] = await Promise.all([rules.current(), loadingState(), segments.refresh()])
    return { table, servers: loading.servers, rules: stored, now: clock.now() }
  }
  return { loadingState, liveState }
}

/** Returns what a caller may read, of these datasources. */
const readerOf = async (caller: Caller, names: Iterable<string>): Promise<PreviewReader> => ({
  canRead: await accessTo(caller, names),
  canReadTiers: caller.can('READ', 'STATE', 'STATE'),
})

const limitedEffectsOf = ({ result }: DecidedRequest): LimitedEffects =>
  formatSummary(result, true) as unknown as LimitedEffects

/** What a policy is compared with. */
interface PolicyEffects {
  /** The effects that the caller may read. */
  readonly summary: LimitedEffects
  /** All effects; undefined if they are the same, or if the caller may not make the change. */
  readonly complete: LimitedEffects | undefined
  readonly isPartial: boolean
}

/** Returns the summary of a change to one list of rules, with all datasources that it affects. Yields regularly. */
function* summaryOfChange(
  state: LiveState,
  dataSource: string,
  list: readonly Rule[],
): Generator<undefined, LimitedEffects> {
  const cluster = yield* liveCluster(state, state.table.datasourceNames.keys())
  const decided = yield* decideRequest(requestOf(dataSource, list), cluster, readsEverything)
  return limitedEffectsOf(decided)
}

/**
 * Returns a warning if the policy of the cluster forbids the change of rules in a request, or may forbid it because of
 * datasources that the caller may not read.
 */
export function warningsOfPolicy(
  policy: RulesPolicy,
  { rules, defaultRules }: PreviewRequest,
  { summary, complete, isPartial }: PolicyEffects,
): readonly { readonly type: string; readonly message: string }[] {
  // One list for all datasources is a question, not a change that someone can make.
  if (Array.isArray(rules)) return []
  const lists = new Map(rules as ReadonlyMap<string, readonly Rule[]>)
  if (defaultRules !== undefined) lists.set(defaultRulesName, defaultRules)
  const violations =
    complete === undefined
      ? policyViolations(policy, lists, summary)
      : shownViolations(policy, lists, { complete, readable: summary })
  if (violations.length > 0) return [{ type: 'forbiddenByPolicy', message: violationsText(violations) }]
  if (complete !== undefined || !isPartial || !limitsLosses(policy)) return []
  const message =
    'The policy of the cluster may forbid this change, because this user may not read all datasources that the change affects'
  return [{ type: 'policyNotChecked', message }]
}

const readsEverything = { canRead: () => true, canReadTiers: true }

/** Returns the request for a preview of one list of rules. */
function requestOf(dataSource: string, list: readonly Rule[]): PreviewRequest {
  const isDefault = dataSource === defaultRulesName
  return {
    now: undefined,
    rules: new Map(isDefault ? [] : [[dataSource, list]]),
    defaultRules: isDefault ? list : undefined,
    segments: undefined,
    servers: undefined,
    horizon: undefined,
    markUsedSince: undefined,
  }
}

/**
 * Throws forbidden if the caller may not read a datasource that the request names. The placeholder name needs no permission.
 * Yields regularly, because a caller may have thousands of expensive permissions.
 */
function* refuseUnreadable(request: PreviewRequest, caller: Caller): Generator<undefined, void> {
  for (const name of namesIn(request)) {
    yield
    if (name !== previewDatasource && !(yield* caller.decide('READ', name)))
      throw missingPermission('READ', 'DATASOURCE', name)
  }
}
