import { describeError } from '@svc/domain/failure'
import { type Segment, segmentId } from '@svc/domain/segment'
import { parseInterval } from '@svc/domain/time'

// Kinds of partitioning that any cluster may have; here each is a partition of a numbered group.
const numberedTypes = new Set(['numbered', 'hashed', 'single', 'range', 'single_dim', 'none', 'linear'])

/** The segment that one row of an inventory describes, or the problem that it has. */
export function readSegmentRow(value: unknown): { readonly segment: Segment } | { readonly problem: string } {
  const refuse = (field: string, found: unknown, allowed: string) => ({
    problem: `field [${field}] has value [${tell(found)}], allowed is ${allowed}`,
  })
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: `is [${tell(value)}], allowed is a JSON object` }
  }
  const { dataSource, interval, version, shardSpec, size, totalRows } = value as Record<string, unknown>
  if (typeof dataSource !== 'string' || dataSource.trim() === '') {
    return refuse('dataSource', dataSource, 'the name of a datasource')
  }
  if (typeof version !== 'string' || version === '')
    return refuse('version', version, 'a text that is not empty')
  if (typeof interval !== 'string') return refuse('interval', interval, 'an ISO 8601 interval')
  if (!isCount(size)) return refuse('size', size, 'a whole number of bytes')
  if (totalRows !== undefined && totalRows !== null && !isCount(totalRows)) {
    return refuse('totalRows', totalRows, 'a whole number of rows')
  }
  const shard = (shardSpec ?? { type: 'none' }) as Record<string, unknown>
  if (typeof shard !== 'object' || typeof shard.type !== 'string' || !numberedTypes.has(shard.type)) {
    return refuse('shardSpec.type', shard.type, `one of [${[...numberedTypes].join(', ')}]`)
  }
  const partitionNum = shard.partitionNum ?? 0
  const partitions = shard.partitions ?? shard.numCorePartitions ?? (shard.type === 'none' ? 1 : 0)
  if (!isCount(partitionNum)) return refuse('shardSpec.partitionNum', partitionNum, 'a whole number')
  if (!isCount(partitions)) return refuse('shardSpec.partitions', partitions, 'a whole number')
  try {
    const key = { dataSource, interval: parseInterval(interval), version, partitionNum }
    return {
      segment: {
        ...key,
        id: segmentId(key),
        partitions,
        sizeBytes: size,
        totalRows: (totalRows as number) ?? 0,
      },
    }
  } catch (error) {
    return { problem: `field [interval]: ${describeError(error)}` }
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

function tell(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
