import { defaultRulesName } from '../rules/index.ts'
import { dayMs } from '../time/index.ts'
import { decideRequest } from './decide-request.ts'
import { foresee } from './future-steps.ts'
import { heldRunsOf } from './held-copies.ts'
import { decideSteps } from './later-losses.ts'
import type { PreviewResult } from './preview.ts'
import type { PreviewedCluster, PreviewedDatasource } from './previewed-cluster.ts'
import { columnsOf } from './segments.ts'
import { servedFiguresOf } from './served-figures.ts'
import type { PreviewServer } from './servers-by-tier.ts'
import { addTally, type CopyTally, noCopies } from './tallies.ts'

/** Changes to the servers of a cluster. */
export interface ServerChanges {
  /** Names of servers that are gone with their replicas. */
  readonly failed: readonly string[]
  /** Names of servers that serve their replicas until other servers have loaded them. */
  readonly drained: readonly string[]
  readonly added: readonly PreviewServer[]
}

/** What a change to the servers does to a tier. */
export interface ChangedTier {
  readonly name: string
  readonly serversBefore: number
  readonly serversAfter: number
  readonly capacityBytesBefore: number
  /** Infinity means no limit. */
  readonly capacityBytesAfter: number
  readonly bytesBefore: number
  readonly bytesAfter: number
  /** Replicas that its servers have to load. */
  readonly loaded: CopyTally
  /** Replicas that the rules require and no server has space for. */
  readonly doesNotFit: CopyTally
  /** When replicas no longer fit, to the hour, with the data of today; undefined if they fit for a year. */
  readonly fullAt: number | undefined
}

/** What changes to the servers of a cluster do. */
export interface ServerChangesPreview {
  readonly tiers: readonly ChangedTier[]
  /** Visible segments that no server serves until one has loaded them again. */
  readonly unavailableSegments: number
  /** Visible segments that no other server can load: they stay unavailable, or on drained servers. */
  readonly unloadableSegments: number
  /** Segments that end up with fewer replicas than their rule requires, and would not without the changes. */
  readonly underReplicatedSegments: number
}

const reader = { canRead: () => true, canReadTiers: true }

/** Decides what changes to the servers do under the stored rules. Yields regularly. */
export function* previewServerChanges(
  cluster: PreviewedCluster,
  { failed, drained, added }: ServerChanges,
): Generator<undefined, ServerChangesPreview> {
  const figures = yield* servedFiguresOf(cluster)
  const served = yield* servedSegmentsIn(cluster)
  // Replicas on drained servers have to be loaded elsewhere, too.
  const remaining = withoutServers(cluster, new Set([...failed, ...drained]))
  const servers = [...remaining.servers, ...added]
  const result = yield* decideStoredRules(remaining, servers)
  const fullTimes = yield* fullTimesOf(result)
  const names = new Set([...cluster.servers, ...added].filter(isHistorical).map(({ tier }) => tier))
  const places = new Map(result.tiers.map(({ tier }, place) => [tier, place]))
  const tiers = [...names].sort().map((name): ChangedTier => {
    const [before, after] = [cluster.servers, servers].map((list) => membersOf(list, name))
    const place = places.get(name)
    return {
      name,
      serversBefore: before!.length,
      serversAfter: after!.length,
      capacityBytesBefore: capacityOf(before!),
      capacityBytesAfter: capacityOf(after!),
      bytesBefore: figures.reduce((sum, { bytesByTier }) => sum + (bytesByTier[name] ?? 0), 0),
      ...changeOf(result, place),
      fullAt: place === undefined ? undefined : fullTimes[place],
    }
  })
  const stillServed = yield* servedSegmentsIn(withoutServers(cluster, new Set(failed)))
  return {
    tiers,
    unavailableSegments: served - stillServed,
    // Without changes, the comparison would decide the same once more, whenever any segment lacks replicas.
    ...(failed.length + drained.length + added.length === 0
      ? { unloadableSegments: 0, underReplicatedSegments: 0 }
      : yield* newLosses(result, cluster)),
  }
}

/** Decides what the stored rules do with other servers. Yields regularly. */
function* decideStoredRules(
  cluster: PreviewedCluster,
  servers: readonly PreviewServer[],
): Generator<undefined, PreviewResult> {
  const request = {
    now: undefined,
    rules: new Map(),
    defaultRules: cluster.rules.get(defaultRulesName) ?? [],
    segments: undefined,
    servers,
    horizon: undefined,
    markUsedSince: undefined,
  }
  return (yield* decideRequest(request, cluster, reader)).result
}

/** Returns how many segments lack some or all replicas after all loads, but would not without the changes. Yields regularly. */
function* newLosses(
  changed: PreviewResult,
  cluster: PreviewedCluster,
): Generator<undefined, Pick<ServerChangesPreview, 'unloadableSegments' | 'underReplicatedSegments'>> {
  const [unqueryable, underReplicated] = lackingIn(changed)
  if (unqueryable + underReplicated === 0) return { unloadableSegments: 0, underReplicatedSegments: 0 }
  const [unqueryableBefore, underReplicatedBefore] = lackingIn(
    yield* decideStoredRules(cluster, cluster.servers),
  )
  return {
    unloadableSegments: Math.max(0, unqueryable - unqueryableBefore),
    underReplicatedSegments: Math.max(0, underReplicated - underReplicatedBefore),
  }
}

/** Returns the number of segments without any replica, and of those with too few. */
const lackingIn = ({ totalEffects }: PreviewResult): readonly [number, number] => [
  totalEffects.of('unqueryable').segments,
  totalEffects.of('underReplicated').segments,
]

/** Returns the number of visible segments with at least one replica. Yields regularly. */
function* servedSegmentsIn(cluster: PreviewedCluster): Generator<undefined, number> {
  let served = 0
  for (const datasource of cluster.datasources) {
    const columns = datasource.columns ?? (yield* columnsOf(datasource.segments))
    const held = datasource.held ?? (yield* heldRunsOf(datasource.segments, columns, cluster.servers))
    datasource.keep(columns, held)
    for (const [run, { byTier, brokers }] of held.copies.entries())
      if (byTier.size > 0 || brokers > 0) served += held.ends[run]! - (held.ends[run - 1] ?? 0)
  }
  return served
}

const isHistorical = ({ type }: PreviewServer): boolean => type === 'historical'

const membersOf = (servers: readonly PreviewServer[], name: string): readonly PreviewServer[] =>
  servers.filter((server) => isHistorical(server) && server.tier === name)

const capacityOf = (servers: readonly PreviewServer[]): number =>
  servers.reduce((sum, { maxSizeBytes }) => sum + maxSizeBytes, 0)

/** Returns how the replicas of a tier change. A tier that loses all of its servers has none afterward. */
function changeOf(
  { tiers, datasources }: PreviewResult,
  place: number | undefined,
): Pick<ChangedTier, 'bytesAfter' | 'loaded' | 'doesNotFit'> {
  const loaded = noCopies()
  if (place === undefined) return { bytesAfter: 0, loaded, doesNotFit: noCopies() }
  for (const datasource of datasources) addTally(loaded, datasource.tiers[place]!.loaded)
  const { bytesAfter, doesNotFit } = tiers[place]!
  return { bytesAfter, loaded, doesNotFit }
}

/** Returns a cluster without some servers and their replicas. */
function withoutServers(cluster: PreviewedCluster, names: ReadonlySet<string>): PreviewedCluster {
  // What is known about the replicas is kept.
  if (names.size === 0) return cluster
  const servers = cluster.servers.filter(({ name }) => !names.has(name))
  const placeOf = new Map(servers.map((server, place) => [server, place]))
  const places = Int32Array.from(cluster.servers, (server) => placeOf.get(server) ?? -1)
  return {
    ...cluster,
    servers,
    datasources: cluster.datasources.map((one) => withCopiesAt(one, places)),
  }
}

/** Returns a datasource with the new place of each server; replicas on servers at -1 are gone. */
function withCopiesAt(datasource: PreviewedDatasource, places: Int32Array): PreviewedDatasource {
  const { segments } = datasource
  return {
    segments: {
      dataSource: segments.dataSource,
      count: segments.count,
      start: (index) => segments.start(index),
      end: (index) => segments.end(index),
      sizeBytes: (index) => segments.sizeBytes(index),
      version: (index) => segments.version(index),
      partitionNum: (index) => segments.partitionNum(index),
      isOvershadowed: (index) => segments.isOvershadowed(index),
      forEachCopy: (index, visit) =>
        segments.forEachCopy(index, (server) => {
          if (places[server]! >= 0) visit(places[server]!)
        }),
    },
    columns: datasource.columns,
    keep: (columns) => datasource.keep(columns, undefined),
  }
}

const weekMs = 7 * dayMs
const weeks = 52

/** Returns when replicas do not fit in each tier for the first time, to the hour. Yields regularly. */
function* fullTimesOf({
  outcome,
  totalEffects,
  tiers,
}: PreviewResult): Generator<undefined, (number | undefined)[]> {
  const { now } = outcome
  const moments = Array.from({ length: weeks }, (_, week) => now + (week + 1) * weekMs)
  const horizon = { concerned: new Set<string>(), moments, assumesSpace: false }
  const foreseen = yield* foresee(outcome, horizon)
  const { begins } = yield* decideSteps(outcome, horizon, { now, losses: totalEffects, tiers }, foreseen)
  return tiers.map((_, place) => begins.inTier(place))
}
