import { setImmediate } from 'node:timers/promises'
import type { SegmentTable } from '@svc/domain/inventory'
import type { LoadingServer } from '@svc/domain/loading'
import { type DatasourceLoadStatus, loadStatusOf } from '@svc/domain/retention'
import { serverPartsOf } from '@svc/shared/coordinator-dynamic-config'
import { registerDutyMetrics } from '@svc/shared/duties'
import { type Metrics, type MetricValue, maxNamedValues, otherValues } from '@svc/shared/metrics'
import { keepFor } from './answers/index.ts'
import type { ClusterView } from './cluster-view.ts'
import { loadCoordinatorConfig, type ServerInventoryEvents } from './inventory/index.ts'

/** State of the segments and servers at one time. */
interface LoadPicture {
  readonly usedSegments: ReadonlyMap<string, number>
  readonly statuses: readonly DatasourceLoadStatus[]
  readonly servers: readonly LoadingServer[]
  /** Age in seconds of the oldest unanswered load of each server, by server number. */
  readonly oldestLoads: ReadonlyMap<number, number>
  readonly queuedDrops: ReadonlyMap<number, number>
}

// Checking a million segments takes a few tenths of a second, so scrapers and all metrics of one scrape share the result.
const pictureAgeMs = 5000

/** Registers the metrics of a coordinator. Metrics that only the leader knows have values only on the leader. */
export function registerCoordinatorMetrics(metrics: Metrics, view: ClusterView): void {
  metrics.observe('svc_leader', () => [{ value: view.leadership.term() === undefined ? 0 : 1 }])
  registerDutyMetrics(metrics, view.dutyGroups)
  observeLoads(metrics, view)
}

function observeLoads(metrics: Metrics, view: ClusterView): void {
  const picture = sharedPicture(metrics, view)
  const observe = (
    name: Parameters<Metrics['observe']>[0],
    read: (picture: LoadPicture) => Iterable<MetricValue>,
  ): void =>
    metrics.observe(name, async () => (view.leadership.term() === undefined ? [] : read(await picture())))

  observe('svc_segments_used', ({ usedSegments }) =>
    [...usedSegments].map(([datasource, value]) => ({ labels: { datasource }, value })),
  )
  observe('svc_segments_unavailable', ({ statuses }) =>
    statuses.map(({ dataSource: datasource, unavailableSegments }) => ({
      labels: { datasource },
      value: unavailableSegments,
    })),
  )
  observe('svc_segment_copies_served', (taken) => copiesOf(taken, 'servedCopies'))
  observe('svc_segment_copies_missing', (taken) => copiesOf(taken, 'missingCopies'))
  observe('svc_servers', ({ servers }) =>
    servers.map(({ type, tier }) => ({ labels: { type, tier }, value: 1 })),
  )
  observe('svc_server_capacity_bytes', (taken) => ofHistoricals(taken, ({ maxSizeBytes }) => maxSizeBytes))
  observe('svc_server_used_bytes', (taken) => ofHistoricals(taken, ({ usedSizeBytes }) => usedSizeBytes))
  observe('svc_load_queue_bytes', (taken) => ofHistoricals(taken, ({ loadingSizeBytes }) => loadingSizeBytes))
  observe('svc_load_queue_segments', ({ servers, queuedDrops }) =>
    servers.flatMap(({ number, tier, queuedLoads }) => [
      { labels: { tier, action: 'load' }, value: queuedLoads },
      { labels: { tier, action: 'drop' }, value: queuedDrops.get(number) ?? 0 },
    ]),
  )
  observe('svc_load_queue_oldest_seconds', ({ servers, oldestLoads }) =>
    servers.map(({ number, tier }) => ({ labels: { tier }, value: oldestLoads.get(number) ?? 0 })),
  )
}

/**
 * Yields the replicas by datasource and tier: 0 for tiers where nothing is served or missing, because a series that comes and goes
 * cannot be plotted. Adds up most tiers without servers, because rules may name thousands of them.
 */
function* copiesOf(
  { statuses, servers }: LoadPicture,
  kind: 'servedCopies' | 'missingCopies',
): Generator<MetricValue> {
  const tiers = new Set(servers.map(({ tier }) => tier))
  for (const { dataSource: datasource, servedCopies, missingCopies, [kind]: copies } of statuses) {
    let withoutServers = 0
    let others: number | undefined
    for (const counts of [servedCopies, missingCopies])
      for (const tier of counts.keys()) {
        if (counts === missingCopies && servedCopies.has(tier)) continue
        const value = copies.get(tier) ?? 0
        if (!tiers.has(tier)) withoutServers += 1
        if (tiers.has(tier) || withoutServers <= maxNamedValues.tier)
          yield { labels: { datasource, tier }, value }
        else others = (others ?? 0) + value
      }
    if (others !== undefined) yield { labels: { datasource, tier: otherValues }, value: others }
  }
}

/** Returns a function that takes a snapshot at most every few seconds, and names the largest datasources and tiers. */
const sharedPicture = (metrics: Metrics, view: ClusterView): (() => Promise<LoadPicture>) =>
  keepFor(pictureAgeMs, async () => {
    const taken = await takePicture(view)
    metrics.nameLargest('datasource', taken.usedSegments)
    metrics.nameLargest(
      'tier',
      countBy(taken.servers, ({ tier }) => tier),
    )
    // Start at 0. Otherwise a scraper would take the first failure for the initial value of the counter.
    for (const { tier } of taken.servers) {
      for (const action of ['load', 'drop'])
        metrics.count('svc_segment_requests_failed_total', { tier, action }, 0)
    }
    return taken
  })

/** Returns listeners that count loaded, moved, and dropped replicas and failed requests. */
export function countCopyChanges(
  metrics: Metrics,
  table: Pick<SegmentTable, 'datasourceNameOf'>,
): Required<Pick<ServerInventoryEvents, 'onFailure' | 'onCopyChange'>> {
  return {
    onFailure: ({ tier }, { action }) => metrics.count('svc_segment_requests_failed_total', { tier, action }),
    onCopyChange: ({ tier }, { id, row }, change) =>
      metrics.count(`svc_segment_copies_${change}_total`, {
        datasource: table.datasourceNameOf(id, row) ?? '',
        tier,
      }),
  }
}

async function takePicture({ context, segments, servers, rules }: ClusterView): Promise<LoadPicture> {
  const [currentRules, config] = await Promise.all([
    rules.current(),
    loadCoordinatorConfig(context.database),
    segments.refresh(),
  ])
  const { table } = segments
  const now = performance.now()
  const loadingServers = servers.loadingServers(now)
  const { clones } = serverPartsOf(config)
  // Replicas on clones do not count for rules, so the load status ignores them too.
  const counted = loadingServers.filter(({ name }) => !clones.has(name))
  const queues = servers.queues()
  const statuses: DatasourceLoadStatus[] = []
  const usedSegments = new Map<string, number>()
  for (const [number, name] of table.datasourceNames.entries()) {
    const count = table.usedCountOf(number)
    if (count === 0) continue
    usedSegments.set(name, count)
    statuses.push(loadStatusOf(table, number, currentRules, counted, context.clock.now()))
    // Takes a few milliseconds per datasource, so let other requests run in between.
    await setImmediate()
  }
  return {
    usedSegments,
    statuses,
    servers: loadingServers,
    oldestLoads: new Map(
      [...queues].map(([number, { loads, oldestLoadAtMs }]) => [
        number,
        loads === 0 ? 0 : (now - oldestLoadAtMs) / 1000,
      ]),
    ),
    queuedDrops: new Map([...queues].map(([number, { drops }]) => [number, drops])),
  }
}

/** Returns a value for each historical, labeled with its tier. */
function ofHistoricals({ servers }: LoadPicture, sizeOf: (server: LoadingServer) => number): MetricValue[] {
  return servers
    .filter(({ type }) => type === 'historical')
    .map((server) => ({ labels: { tier: server.tier }, value: sizeOf(server) }))
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, number> {
  return new Map([...Map.groupBy(items, keyOf)].map(([key, group]) => [key, group.length]))
}
