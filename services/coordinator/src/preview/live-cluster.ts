import type { LoadingServer } from '@svc/domain/loading'
import type { PreviewSegments, PreviewServer, SegmentColumns } from '@svc/domain/preview'
import type { DatasourceSegments } from '@svc/domain/retention'

// Copies that are looked at between two pauses.
const slice = 16_384

// The columns of a datasource are as good as long as its segments are the same.
const columnsOfDatasource = new WeakMap<DatasourceSegments, SegmentColumns>()

/** A datasource of the cluster as a preview reads it. */
export interface LiveDatasource {
  readonly segments: PreviewSegments
  readonly columns: SegmentColumns | undefined
  /** Keeps the columns for the next preview. */
  keep(columns: SegmentColumns): void
}

/** The servers of the cluster as a preview sees them. */
export function liveServers(servers: readonly LoadingServer[]): PreviewServer[] {
  return servers.map(({ name, type, tier, maxSizeBytes, decommissioning }) => ({
    name,
    type,
    tier,
    maxSizeBytes,
    decommissioning,
  }))
}

/** The used segments of the cluster with the servers that serve them; pauses now and then. */
export function* liveDatasources(
  datasources: readonly DatasourceSegments[],
  servers: readonly LoadingServer[],
): Generator<undefined, LiveDatasource[]> {
  const forEachCopy = yield* copiesOf(servers)
  return datasources.map((datasource) => {
    const { dataSource, segments, overshadowed } = datasource
    return {
      segments: {
        dataSource,
        count: segments.length,
        start: (index) => segments[index]!.interval.start,
        end: (index) => segments[index]!.interval.end,
        sizeBytes: (index) => segments[index]!.sizeBytes,
        version: (index) => segments[index]!.version,
        partitionNum: (index) => segments[index]!.partitionNum,
        isOvershadowed: (index) => overshadowed.size > 0 && overshadowed.has(segments[index]!.id),
        forEachCopy: (index, visit) => forEachCopy(segments[index]!.id, visit),
      },
      columns: columnsOfDatasource.get(datasource),
      keep: (columns) => {
        columnsOfDatasource.set(datasource, columns)
      },
    }
  })
}

type ForEachCopy = (id: string, visit: (server: number) => void) => void

/** Finds the servers that serve a segment: chains of numbers, for there may be millions of copies. */
function* copiesOf(servers: readonly LoadingServer[]): Generator<undefined, ForEachCopy> {
  const count = servers.reduce((sum, { served }) => sum + served.size, 0)
  const firstOf = new Map<string, number>()
  const nextOf = new Int32Array(count)
  const serverOf = new Int32Array(count)
  let entry = 0
  for (const [number, { served }] of servers.entries()) {
    for (const id of served) {
      if (entry % slice === 0) yield
      nextOf[entry] = firstOf.get(id) ?? -1
      serverOf[entry] = number
      firstOf.set(id, entry)
      entry += 1
    }
  }
  return (id, visit) => {
    for (let at = firstOf.get(id) ?? -1; at >= 0; at = nextOf[at]!) visit(serverOf[at]!)
  }
}
