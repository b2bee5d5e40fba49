import type { ClusterClient } from '../client/index.ts'
import { formatBytes, formatCount, shortInstant, type Table } from '../terminal/index.ts'

const base = '/svc/coordinator/v1'

/** A datasource and what servers have loaded of it. */
export interface Datasource {
  readonly dataSource: string
  /** Whether it has used segments. */
  readonly isUsed: boolean
  /** Number of segments that at least one server has loaded. */
  readonly loadedSegments: number
  readonly sizeBytes: number
  /** The time range of the loaded segments; null if there are none. */
  readonly start: string | null
  readonly end: string | null
  /** How many of the segments that rules load are loaded, in percent; null if rules load none. */
  readonly loadedPercent: number | null
  /** Number of segments by tier. */
  readonly tiers: Readonly<Record<string, number>>
}

interface AnsweredSizes {
  readonly segments: {
    readonly count: number
    readonly size: number
    readonly minTime: string
    readonly maxTime: string
  }
  readonly tiers: Readonly<Record<string, { readonly segmentCount: number }>>
}

/** Returns the datasources of a cluster by name, including those that have only unused segments. */
export async function readDatasources(client: ClusterClient): Promise<Datasource[]> {
  const get = (path: string) => client.send('GET', `${base}${path}`)
  const [all, used, served, percents] = (await Promise.all([
    get('/metadata/datasources?includeUnused'),
    get('/metadata/datasources'),
    get('/datasources?simple'),
    get('/loadstatus'),
  ])) as [string[], string[], { name: string; properties: AnsweredSizes }[], Record<string, number>]
  const sizesOf = new Map(served.map(({ name, properties }) => [name, properties]))
  return [...new Set([...all, ...used])].sort().map((dataSource) => {
    const sizes = sizesOf.get(dataSource)
    const tiers = Object.entries(sizes?.tiers ?? {})
      .map(([tier, { segmentCount }]) => [tier, segmentCount] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1))
    return {
      dataSource,
      isUsed: used.includes(dataSource),
      loadedSegments: sizes?.segments.count ?? 0,
      sizeBytes: sizes?.segments.size ?? 0,
      start: sizes?.segments.minTime ?? null,
      end: sizes?.segments.maxTime ?? null,
      // The cluster also says 100 if there is nothing to load.
      loadedPercent:
        sizes === undefined && percents[dataSource] === 100 ? null : (percents[dataSource] ?? null),
      tiers: Object.fromEntries(tiers),
    }
  })
}

/** One row per datasource. */
export function datasourcesTable(datasources: readonly Datasource[]): Table {
  return {
    header: ['datasource', 'loaded', 'segments', 'size', 'from', 'to', 'tiers'],
    rows: datasources.map((datasource) => {
      const { dataSource, isUsed, loadedSegments, sizeBytes, start, end, loadedPercent, tiers } = datasource
      return [
        dataSource,
        isUsed ? percentText(loadedPercent) : 'unused',
        formatCount(loadedSegments),
        formatBytes(sizeBytes),
        start === null ? '' : shortInstant(start),
        end === null ? '' : shortInstant(end),
        Object.entries(tiers)
          .map(([tier, segments]) => `${tier} ${formatCount(segments)}`)
          .join(', '),
      ]
    }),
  }
}

/** A percentage that is only shown as 100% if nothing is missing. */
function percentText(percent: number | null): string {
  return percent === null ? 'no replicas' : `${Math.floor(percent * 10) / 10}%`
}
