import { describeError } from '@svc/domain/failure'
import { type Segment, segmentId } from '@svc/domain/segment'
import { formatInterval, parseInterval } from '@svc/domain/time'
import { isJsonObject, readName } from '@svc/domain/validation'

/** A segment of a snapshot, with what planning does not need to know. */
export interface SnapshotSegment {
  readonly segment: Segment
  /** Names of columns, separated by commas. */
  readonly dimensions: string
  readonly metrics: string
  /** What it was compacted to; undefined of segments that were not compacted. */
  readonly lastCompactionState: object | undefined
  /** Whether its source counts it as overshadowed; undefined where the source does not tell. */
  readonly overshadowed: boolean | undefined
}

// Kinds of partitioning that any cluster may have; here each is a partition of a numbered group.
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
// Kinds that are alone in their interval.
const loneTypes = new Set(['none', 'tombstone'])
const mostInt = 2_147_483_647

/** The segment that one row of an inventory describes, or the problem that it has. */
export function readSegmentRow(value: unknown): SnapshotSegment | { readonly problem: string } {
  const refuse = (field: string, found: unknown, allowed: string) => ({
    problem: `field [${field}] has value [${tell(found)}], allowed is ${allowed}`,
  })
  if (!isJsonObject(value)) return { problem: `is [${tell(value)}], allowed is a JSON object` }
  const { interval, shardSpec, size, lastCompactionState, overshadowed } = value
  const totalRows = value.totalRows ?? value.numRows ?? 0
  if (typeof interval !== 'string') return refuse('interval', interval, 'an ISO 8601 interval')
  if (!isCount(size)) return refuse('size', size, 'a whole number of bytes')
  if (!isCount(totalRows)) return refuse('totalRows', totalRows, 'a whole number of rows')
  const shard = shardSpec ?? { type: 'none' }
  if (!isJsonObject(shard) || typeof shard.type !== 'string' || !numberedTypes.has(shard.type)) {
    const found = isJsonObject(shard) ? shard.type : shard
    return refuse('shardSpec.type', found, `one of [${[...numberedTypes].join(', ')}]`)
  }
  const partitionNum = shard.partitionNum ?? 0
  const partitions = shard.partitions ?? shard.numCorePartitions ?? (loneTypes.has(shard.type) ? 1 : 0)
  if (!isCount(partitionNum, mostInt))
    return refuse('shardSpec.partitionNum', partitionNum, `a whole number up to ${mostInt}`)
  if (!isCount(partitions, mostInt))
    return refuse('shardSpec.partitions', partitions, `a whole number up to ${mostInt}`)
  if ((lastCompactionState ?? undefined) !== undefined && !isJsonObject(lastCompactionState))
    return refuse('lastCompactionState', lastCompactionState, 'a JSON object')
  try {
    const key = {
      dataSource: readDataSource(value.dataSource, 'dataSource'),
      interval: parseInterval(interval),
      version: readVersion(value.version, 'version'),
      partitionNum,
    }
    if (key.interval.start === key.interval.end)
      return refuse('interval', interval, 'an interval that is not empty')
    return {
      segment: { ...key, id: segmentId(key), partitions, sizeBytes: size, totalRows },
      dimensions: columnsOf(value.dimensions),
      metrics: columnsOf(value.metrics),
      lastCompactionState: (lastCompactionState as object | null | undefined) ?? undefined,
      overshadowed: typeof overshadowed === 'boolean' ? overshadowed : undefined,
    }
  } catch (error) {
    return { problem: `field ${describeError(error)}` }
  }
}

const readDataSource = readName()
const readVersion = readName()

/** The row as a snapshot has it: what is managed, without where the bytes lie or what a cluster makes of it. */
export function formatSegmentRow({
  segment,
  dimensions,
  metrics,
  lastCompactionState,
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
  }
}

const isCount = (value: unknown, most = Number.MAX_SAFE_INTEGER): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= most

const columnsOf = (value: unknown): string =>
  Array.isArray(value) ? value.join(',') : typeof value === 'string' ? value : ''

/** A value in a message: short, in one line. */
export function tell(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
