import { describeError } from '../failure/index.ts'
import { type Segment, segmentId } from '../segment/index.ts'
import { formatInterval, parseInterval } from '../time/index.ts'
import { isJsonObject, readDatasourceName, readName } from '../validation/index.ts'

/** A segment of a snapshot, with fields that planning does not need. */
export interface SnapshotSegment {
  readonly segment: Segment
  /** Comma-separated names of columns. */
  readonly dimensions: string
  readonly metrics: string
  /** Its compaction state; undefined if it was not compacted. */
  readonly lastCompactionState: object | undefined
  /** Whether it is overshadowed according to the source; undefined if the source does not say. */
  readonly overshadowed: boolean | undefined
}

// Partition types that a cluster may have; all of them are imported as numbered partitions.
const numberedTypes = new Set([
  'numbered',
  'hashed',
  'single',
  'range',
  'single_dim',
  'none',
  'linear',
  'tombstone',
])
// Types that are the only partition of their interval.
const singleTypes = new Set(['none', 'tombstone'])
const maxInt = 2_147_483_647

/** The segment in one row of an inventory, or the problem with the row. */
export function readSegmentRow(value: unknown): SnapshotSegment | { readonly problem: string } {
  const refuse = (field: string, found: unknown, allowed: string) => ({
    problem: `Invalid value [${shorten(found)}] for [${field}]: expected ${allowed}`,
  })
  if (!isJsonObject(value)) return { problem: `Invalid value [${shorten(value)}]: expected a JSON object` }
  const { interval, shardSpec, size, lastCompactionState, overshadowed } = value
  const totalRows = value.totalRows ?? value.numRows ?? 0
  if (typeof interval !== 'string') return refuse('interval', interval, 'an ISO 8601 interval')
  if (!isCount(size)) return refuse('size', size, 'a non-negative integer')
  if (!isCount(totalRows)) return refuse('totalRows', totalRows, 'a non-negative integer')
  const shard = shardSpec ?? { type: 'none' }
  if (!isJsonObject(shard) || typeof shard.type !== 'string' || !numberedTypes.has(shard.type)) {
    const found = isJsonObject(shard) ? shard.type : shard
    return refuse('shardSpec.type', found, `one of [${[...numberedTypes].join(', ')}]`)
  }
  const partitionNum = shard.partitionNum ?? 0
  const partitions = shard.partitions ?? shard.numCorePartitions ?? (singleTypes.has(shard.type) ? 1 : 0)
  if (!isCount(partitionNum, maxInt))
    return refuse('shardSpec.partitionNum', partitionNum, `an integer from 0 to ${maxInt}`)
  if (!isCount(partitions, maxInt))
    return refuse('shardSpec.partitions', partitions, `an integer from 0 to ${maxInt}`)
  if ((lastCompactionState ?? undefined) !== undefined && !isJsonObject(lastCompactionState))
    return refuse('lastCompactionState', lastCompactionState, 'a JSON object')
  try {
    const key = {
      dataSource: readDatasourceName(value.dataSource, 'dataSource'),
      interval: parseInterval(interval),
      version: readVersion(value.version, 'version'),
      partitionNum,
    }
    if (key.interval.start === key.interval.end) return refuse('interval', interval, 'a non-empty interval')
    return {
      segment: { ...key, id: segmentId(key), partitions, sizeBytes: size, totalRows },
      dimensions: columnsOf(value.dimensions),
      metrics: columnsOf(value.metrics),
      lastCompactionState: (lastCompactionState as object | null | undefined) ?? undefined,
      overshadowed: typeof overshadowed === 'boolean' ? overshadowed : undefined,
    }
  } catch (error) {
    return { problem: describeError(error) }
  }
}

const readVersion = readName()

/** The row of a segment in a snapshot, without its location and without fields that a cluster derives. */
export function formatSegmentRow({
  segment,
  dimensions,
  metrics,
  lastCompactionState,
  overshadowed,
}: SnapshotSegment): Record<string, unknown> {
  const { dataSource, interval, version, partitionNum, partitions, sizeBytes, totalRows } = segment
  return {
    dataSource,
    interval: formatInterval(interval),
    version,
    dimensions,
    metrics,
    shardSpec: { type: 'numbered', partitionNum, partitions },
    size: sizeBytes,
    totalRows,
    ...(lastCompactionState === undefined ? {} : { lastCompactionState }),
    ...(overshadowed === undefined ? {} : { overshadowed }),
  }
}

const isCount = (value: unknown, max = Number.MAX_SAFE_INTEGER): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max

const columnsOf = (value: unknown): string =>
  Array.isArray(value) ? value.join(',') : typeof value === 'string' ? value : ''

/** A value for a message: short, on one line. */
export function shorten(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
