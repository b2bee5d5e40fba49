import { missingPermission } from '@svc/domain/access'
import type { LoadRate } from '@svc/domain/load-time'
import {
  decideRequest,
  formatDecided,
  isForAll,
  namesIn,
  type PreviewPage,
  type PreviewRequest,
  type PreviewWarning,
  parsePreviewRequest,
  previewDatasource,
  warningsOfList,
  warningsOfStored,
} from '@svc/domain/preview'
import { defaultRulesName, type Rule } from '@svc/domain/rules'
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
import { liveCluster } from './live-cluster.ts'
import { type LoadingState, loadTimeOf } from './load-time.ts'
import { loadUnusedInStore } from './unused-in-store.ts'

/** Previews what a rule change would do. */
export interface Previews {
  /** Returns the answer to a request as a JSON string. */
  answer(json: unknown, page: PreviewPage, caller: Caller, signal: AbortSignal): Promise<string>
  /** Returns warnings about the current rules of a datasource or about the cluster default rules. */
  warningsOf(dataSource: string, signal: AbortSignal): Promise<readonly PreviewWarning[]>
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
  { context: { clock, database, settings }, leadership, segments, servers, rules }: PreviewedState,
  clusterState: Pick<ClusterStateTracker, 'unknownReasons'>,
  { rateOf, untilNextRunMs }: LoadingKnowledge = { rateOf: () => undefined, untilNextRunMs: () => 0 },
): Previews {
  const { table } = segments
  const slices = createSlices()

  async function loadingState(): Promise<LoadingState> {
    const config = await loadCoordinatorConfig(database)
    const loading = servers.loadingServers(performance.now(), serverPartsOf(config))
    const times = { periodMs: settings.get('svc.coordinator.period'), untilNextRunMs: untilNextRunMs() }
    const limits = { ...loadingLimitsOf(config, table.usedCount, loading.length), ...times }
    return { servers: loading, limits, rateOf }
  }

  return {
    answer: async (json, page, caller, signal) => {
      const now = clock.now()
      const request = await slices.run(() => parsePreviewRequest(json, now), signal)
      refuseUnreadable(request, caller)
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
      const numbers = isOfCluster ? table.datasourceNames.keys() : []
      const state = { table, servers: loading.servers, rules: stored, now }
      const reader = {
        canRead: (name: string) => caller.can('READ', 'DATASOURCE', name),
        canReadTiers: caller.can('READ', 'STATE', 'STATE'),
      }
      return await slices.run(function* () {
        const cluster = yield* liveCluster(state, numbers)
        const decided = yield* decideRequest(request, cluster, reader, { buckets: page.buckets, unused })
        const { withTiers, result } = decided
        const more = isOfCluster && withTiers ? { loadTime: loadTimeOf(result, loading) } : {}
        return yield* jsonInSlices(yield* formatDecided(decided, page, more))
      }, signal)
    },
    warningsOf: async (dataSource, signal) => {
      // Only the leader knows the servers and segments. Otherwise, check the rules alone.
      const checkAlone = (list: readonly Rule[] = []) =>
        slices.run(() => warningsOfList(dataSource, list, clock.now()), signal)
      if (leadership.term() === undefined) return await checkAlone((await rules.current()).get(dataSource))
      const [stored, loading] = await Promise.all([rules.current(), loadingState(), segments.refresh()])
      if (clusterState.unknownReasons().length > 0) return await checkAlone(stored.get(dataSource))
      const isDefault = dataSource === defaultRulesName
      const numbers = isDefault ? table.datasourceNames.keys() : [table.datasourceNumber(dataSource)]
      const state = { table, servers: loading.servers, rules: stored, now: clock.now() }
      return await slices.run(function* () {
        return yield* warningsOfStored(dataSource, yield* liveCluster(state, numbers))
      }, signal)
    },
  }
}

/** Throws forbidden if the caller may not read a datasource that the request names. The placeholder name needs no permission. */
function refuseUnreadable(request: PreviewRequest, caller: Caller): void {
  for (const name of namesIn(request)) {
    if (name !== previewDatasource && !caller.can('READ', 'DATASOURCE', name))
      throw missingPermission('READ', 'DATASOURCE', name)
  }
}
