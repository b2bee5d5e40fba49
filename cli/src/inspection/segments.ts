import { invalidInput } from '@svc/domain/failure'
import { ascending } from '@svc/domain/order'
import { addPeriod, overlaps, parseInterval, parsePeriod } from '@svc/domain/time'
import type { ClusterClient } from '../client/index.ts'
import { formatBytes, formatCount, shortInstant, shortInterval, type Table } from '../terminal/index.ts'

const base = '/svc/coordinator/v1'

/** Which segments to list. */
export interface SegmentQuery {
  /** Default: all datasources. */
  readonly dataSource?: string | undefined
  /** Only segments that overlap it. */
  readonly interval?: string | undefined
  /** Unused segments instead of used ones; requires a datasource. */
  readonly isUnused?: boolean | undefined
}

/** A segment and the servers that have loaded it. */
export interface ListedSegment {
  readonly id: string
  readonly dataSource: string
  readonly interval: string
  readonly version: string
  readonly partition: number
  readonly sizeBytes: number
  readonly state: 'used' | 'overshadowed' | 'unused'
  readonly servers: readonly string[]
}

interface AnsweredSegment {
  readonly identifier: string
  readonly dataSource: string
  readonly interval: string
  readonly version: string
  readonly shardSpec: { readonly partitionNum?: number }
  readonly size: number
  readonly overshadowed?: boolean
}

/** Segments by interval and ID. */
type ServedSegments = Readonly<
  Record<string, Readonly<Record<string, { readonly servers: readonly string[] }>>>
>

/** Returns segments by datasource, newest intervals first. */
export async function readSegments(client: ClusterClient, query: SegmentQuery): Promise<ListedSegment[]> {
  const { dataSource, interval, isUnused } = query
  if (isUnused && dataSource === undefined) throw invalidInput('Option --unused requires --datasource')
  const within = interval === undefined ? undefined : parseInterval(interval, '--interval')
  const listed = isUnused ? await readUnused(client, dataSource!) : await readUsed(client, dataSource)
  return listed
    .filter((segment) => within === undefined || overlaps(parseInterval(segment.interval), within))
    .sort(
      (a, b) =>
        ascending(a.dataSource, b.dataSource) ||
        ascending(b.interval, a.interval) ||
        ascending(b.version, a.version) ||
        a.partition - b.partition,
    )
}

async function readUsed(client: ClusterClient, dataSource: string | undefined): Promise<ListedSegment[]> {
  const one = dataSource === undefined ? '' : `&datasources=${encodeURIComponent(dataSource)}`
  const used = (await client.send(
    'GET',
    `${base}/metadata/segments?includeOvershadowedStatus${one}`,
  )) as AnsweredSegment[]
  const names = [...new Set(used.map((segment) => segment.dataSource))]
  const serversOf = new Map<string, readonly string[]>()
  for (const name of names) {
    // The answer is empty if no server has loaded any segment.
    const served = ((await client.send(
      'GET',
      `${base}/datasources/${encodeURIComponent(name)}/intervals?full`,
    )) ?? {}) as ServedSegments
    for (const segments of Object.values(served))
      for (const [id, { servers }] of Object.entries(segments)) serversOf.set(id, servers)
  }
  return used.map((segment) =>
    listedSegment(
      segment,
      segment.overshadowed ? 'overshadowed' : 'used',
      serversOf.get(segment.identifier) ?? [],
    ),
  )
}

async function readUnused(client: ClusterClient, dataSource: string): Promise<ListedSegment[]> {
  const path = `${base}/metadata/datasources/${encodeURIComponent(dataSource)}/unusedSegments`
  const unused = (await client.send('GET', path)) as { readonly dataSegment: AnsweredSegment }[]
  return unused.map(({ dataSegment }) => listedSegment(dataSegment, 'unused', []))
}

function listedSegment(
  { identifier, dataSource, interval, version, shardSpec, size }: AnsweredSegment,
  state: ListedSegment['state'],
  servers: readonly string[],
): ListedSegment {
  return {
    id: identifier,
    dataSource,
    interval,
    version,
    partition: shardSpec.partitionNum ?? 0,
    sizeBytes: size,
    state,
    servers,
  }
}

/** One row per segment, which fits into 80 columns. Omits the datasource if all segments have the same one, and the usual state. */
export function segmentsTable(segments: readonly ListedSegment[]): Table {
  const isOne = new Set(segments.map(({ dataSource }) => dataSource)).size <= 1
  return {
    header: ['datasource', 'interval', 'version', '#', 'size', 'replicas'],
    rows: segments.map(({ dataSource, interval, version, partition, sizeBytes, state, servers }) => [
      isOne ? '' : dataSource,
      intervalWithPeriod(interval),
      version,
      String(partition),
      formatBytes(sizeBytes),
      state === 'unused' ? state : `${formatCount(servers.length)}${state === 'used' ? '' : ` ${state}`}`,
    ]),
  }
}

// Lengths of segments that the table shows as a period, which is shorter than the end.
const periods = [
  'P1Y',
  'P3M',
  'P1M',
  'P1W',
  'P1D',
  'PT8H',
  'PT6H',
  'PT1H',
  'PT30M',
  'PT15M',
  'PT10M',
  'PT5M',
  'PT1M',
]

/** An interval with its length, for example `2026-01-31/P1D` or `2026-01-31T06:15/PT15M`; in short form if it has another length. */
function intervalWithPeriod(interval: string): string {
  const { start, end } = parseInterval(interval)
  const period = periods.find((text) => addPeriod(start, parsePeriod(text)) === end)
  if (period === undefined) return shortInterval(interval)
  return `${shortInstant(interval.split('/')[0]!).replace(/(:00)?Z$/, '')}/${period}`
}
