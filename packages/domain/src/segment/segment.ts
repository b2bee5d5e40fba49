import { formatInstant, formatInterval, type Interval, instantOf, parseInterval } from '../time/index.ts'
import type { DimensionType } from './column-types.ts'

/** The parts that identify a segment. */
export interface SegmentKey {
  readonly dataSource: string
  readonly interval: Interval
  /** ISO 8601 timestamp. Versions are compared as strings; a higher version overshadows a lower one. */
  readonly version: string
  readonly partitionNum: number
}

/** A segment with the data that planning needs. */
export interface Segment extends SegmentKey {
  readonly id: string
  /** Size of the core partition set. 0 means only appended segments; such a group is always complete. */
  readonly partitions: number
  readonly sizeBytes: number
  readonly totalRows: number
}

/** A column of a segment other than its time column. */
export interface SegmentColumn {
  readonly name: string
  readonly type: DimensionType | 'boolean'
}

/** Where a segment is stored in deep storage. */
export interface LoadSpec {
  /**
   * The type of deep storage that the file was written to; servers read it from the deep storage that they are configured
   * for. A virtual segment is metadata only: it has no file or checksum, and only virtual servers load it.
   */
  readonly type: 'local' | 's3' | 'virtual'
  /** Relative to the root of deep storage. */
  readonly path: string
  /** `sha256:` and the hexadecimal digest of the file. */
  readonly checksum: string
}

/** Load spec of every virtual segment. */
export const virtualLoadSpec: LoadSpec = { type: 'virtual', path: '', checksum: '' }

/** A segment as JSON, as the metadata store keeps it and data servers receive it. */
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
  /** Compaction state; omitted if the state is stored separately or the segment was not compacted. */
  readonly lastCompactionState?: unknown
  /** The fingerprint of that state. */
  readonly indexingStateFingerprint?: string
}

// The version of the segment format that Druid 37 reports.
const binaryVersion = 9

/** Returns the id of a segment: `dataSource_start_end_version`, plus `_partitionNum` unless that is 0. */
export function segmentId(key: SegmentKey): string {
  const { dataSource, interval, version, partitionNum } = key
  const id = `${dataSource}_${formatInstant(interval.start)}_${formatInstant(interval.end)}_${version}`
  return partitionNum > 0 ? `${id}_${partitionNum}` : id
}

const idAfterDataSource = /^_([^_]+)_([^_]+)_(.+)$/
const numbered = /^(.+)_([1-9]\d{0,9})$/
const maxPartitionNum = 2 ** 31 - 1

/**
 * Parses the id of a segment of this datasource. Returns undefined if it is not such an id. The datasource must be
 * known, because its name can contain anything, even text that looks like the rest of an id.
 */
export function parseSegmentId(dataSource: string, id: string): SegmentKey | undefined {
  if (!id.startsWith(dataSource)) return undefined
  const parts = idAfterDataSource.exec(id.slice(dataSource.length))
  if (parts === null) return undefined
  const [, startText = '', endText = '', rest = ''] = parts
  const start = instantOf(startText)
  const end = instantOf(endText)
  if (start === undefined || end === undefined) return undefined
  const key = { dataSource, interval: { start, end }, ...versionAndPartitionOf(rest) }
  // Only the canonical form is an id: no other notation of a time.
  return segmentId(key) === id ? key : undefined
}

/** Like in Druid, a number at the end that is not the number of a partition, such as [0], belongs to the version. */
function versionAndPartitionOf(text: string): Pick<SegmentKey, 'version' | 'partitionNum'> {
  const [, version = '', digits] = numbered.exec(text) ?? []
  const partitionNum = Number(digits)
  return partitionNum <= maxPartitionNum ? { version, partitionNum } : { version: text, partitionNum: 0 }
}

const instantPattern = String.raw`-?\d+-\d\d-\d\dT[\d:.]+Z`
const idWithInstants = new RegExp(
  String.raw`^(.*)_${instantPattern}_${instantPattern}_${instantPattern}(?:_\d{1,10})?$`,
  's',
)
const beforeFirstInstant = new RegExp(`^(.*?)_${instantPattern}_`)

/**
 * Returns the datasource in the id of a segment: everything before the interval and version at the end of the id. For
 * other strings, returns everything before the first instant, or the entire string if it has no instant. The name of a
 * datasource can contain instants.
 */
export function dataSourceOfId(id: string): string {
  return (idWithInstants.exec(id) ?? beforeFirstInstant.exec(id))?.[1] ?? id
}

/** Returns the segment that a payload describes. Throws invalidInput if its interval is invalid. */
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

/** Returns the payload of a segment. `stored` adds the fields that planning does not use. */
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
