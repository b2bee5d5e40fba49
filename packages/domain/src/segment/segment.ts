import { formatInstant, formatInterval, type Interval, parseInterval, readInstant } from '../time/index.ts'
import type { DimensionType } from './column-types.ts'

/** What makes a segment itself. */
export interface SegmentKey {
  readonly dataSource: string
  readonly interval: Interval
  /** ISO 8601 timestamp text; versions compare as strings, the higher one hides the lower. */
  readonly version: string
  readonly partitionNum: number
}

/** A segment as planning sees it. */
export interface Segment extends SegmentKey {
  readonly id: string
  /** Size of the core partition set; 0 = appended segments only, every such group is complete. */
  readonly partitions: number
  readonly sizeBytes: number
  readonly totalRows: number
}

/** A column of a segment besides its time. */
export interface SegmentColumn {
  readonly name: string
  readonly type: DimensionType | 'boolean'
}

/** Where the bytes of a segment lie in deep storage. */
export interface LoadSpec {
  /** A virtual segment is metadata only: it has neither file nor checksum, and only virtual servers load it. */
  readonly type: 'local' | 'virtual'
  /** Relative to the root of deep storage. */
  readonly path: string
  /** `sha256:` and the hexadecimal digest of the file. */
  readonly checksum: string
}

/** Where the bytes of every virtual segment lie: nowhere. */
export const virtualLoadSpec: LoadSpec = { type: 'virtual', path: '', checksum: '' }

/** A segment as JSON: what the metadata store keeps and data servers are sent. */
export interface SegmentPayload {
  readonly dataSource: string
  readonly interval: string
  readonly version: string
  readonly loadSpec: LoadSpec
  /** Names of the dimension columns, separated by commas. */
  readonly dimensions: string
  /** Names of the metric columns, separated by commas. */
  readonly metrics: string
  readonly shardSpec: {
    readonly type: 'numbered'
    readonly partitionNum: number
    readonly partitions: number
  }
  readonly binaryVersion: number
  readonly size: number
  readonly totalRows: number
  readonly identifier: string
  /** What it was compacted to; left out where the state is kept apart, and of segments that were not compacted. */
  readonly lastCompactionState?: unknown
  /** The fingerprint of that state. */
  readonly indexingStateFingerprint?: string
}

// The version of the segment format that the recorded system reports.
const binaryVersion = 9

/** The id of a segment: `dataSource_start_end_version`, and `_partitionNum` unless that is 0. */
export function segmentId(key: SegmentKey): string {
  const { dataSource, interval, version, partitionNum } = key
  const id = `${dataSource}_${formatInstant(interval.start)}_${formatInstant(interval.end)}_${version}`
  return partitionNum > 0 ? `${id}_${partitionNum}` : id
}

const idAfterDataSource = /^_([^_]+)_([^_]+)_(.+?)(?:_(\d{1,10}))?$/

/**
 * What the id of a segment of this datasource says, or undefined if it is none. The datasource must be known: its
 * name may hold anything, even what looks like the rest of an id.
 */
export function parseSegmentId(dataSource: string, id: string): SegmentKey | undefined {
  if (!id.startsWith(dataSource)) return undefined
  const parts = idAfterDataSource.exec(id.slice(dataSource.length))
  if (parts === null) return undefined
  const [, startText = '', endText = '', version = '', partitionText = '0'] = parts
  const start = readInstant(startText)
  const end = readInstant(endText)
  if (start === undefined || end === undefined) return undefined
  const key = { dataSource, interval: { start, end }, version, partitionNum: Number(partitionText) }
  // Only the one way in which an id is written counts: no `_0`, no leading zeros, no other spelling of a time.
  return segmentId(key) === id ? key : undefined
}

const instantPattern = String.raw`-?\d+-\d\d-\d\dT[\d:.]+Z`
const idWithInstants = new RegExp(
  String.raw`^(.*)_${instantPattern}_${instantPattern}_${instantPattern}(?:_\d{1,10})?$`,
  's',
)
const beforeFirstInstant = new RegExp(`^(.*?)_${instantPattern}_`)

/**
 * The datasource that stands in the id of a segment: all before interval and version, which end it; of other texts all
 * before the first instant, or the whole text where there is none. A datasource may have instants in its name.
 */
export function dataSourceOfId(id: string): string {
  return (idWithInstants.exec(id) ?? beforeFirstInstant.exec(id))?.[1] ?? id
}

/** The segment that a payload describes. A payload with a broken interval is an invalidInput failure. */
export function segmentFromPayload(payload: SegmentPayload): Segment {
  return {
    id: payload.identifier,
    dataSource: payload.dataSource,
    interval: parseInterval(payload.interval),
    version: payload.version,
    partitionNum: payload.shardSpec.partitionNum,
    partitions: payload.shardSpec.partitions,
    sizeBytes: payload.size,
    totalRows: payload.totalRows,
  }
}

/** The payload of a segment; `stored` adds what planning does not need to know. */
export function payloadOf(
  segment: Segment,
  stored: Pick<SegmentPayload, 'loadSpec' | 'dimensions' | 'metrics'>,
): SegmentPayload {
  return {
    dataSource: segment.dataSource,
    interval: formatInterval(segment.interval),
    version: segment.version,
    loadSpec: stored.loadSpec,
    dimensions: stored.dimensions,
    metrics: stored.metrics,
    shardSpec: { type: 'numbered', partitionNum: segment.partitionNum, partitions: segment.partitions },
    binaryVersion,
    size: segment.sizeBytes,
    totalRows: segment.totalRows,
    identifier: segment.id,
  }
}
