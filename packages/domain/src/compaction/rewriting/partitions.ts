import type { PartitionsSpec } from '../../specs/index.ts'
import type { CompactionConfig } from '../config/index.ts'

const defaultPartitions: PartitionsSpec = {
  type: 'dynamic',
  maxRowsPerSegment: 5_000_000,
  maxTotalRows: null,
}
// A segment can have up to 50% more rows than the target.
const maxRowsPerTarget = 1.5

/** Returns how the rows of an interval are partitioned, with defaults if the configuration does not say. */
export function partitionsOf(config: CompactionConfig): PartitionsSpec {
  const { tuningConfig, maxRowsPerSegment } = config
  if (tuningConfig?.partitionsSpec) return tuningConfig.partitionsSpec
  return maxRowsPerSegment === null ? defaultPartitions : { ...defaultPartitions, maxRowsPerSegment }
}

/** Returns the max number of rows per segment; undefined if the number of segments is configured instead. */
export function maxRowsPerSegmentOf(partitions: PartitionsSpec): number | undefined {
  if (partitions.type !== 'range') return partitions.maxRowsPerSegment ?? undefined
  const { maxRowsPerSegment, targetRowsPerSegment } = partitions
  return maxRowsPerSegment ?? Math.floor((targetRowsPerSegment ?? 1) * maxRowsPerTarget)
}

/** Returns the target number of rows per segment for range partitioning. */
export function targetRowsOf(partitions: Extract<PartitionsSpec, { type: 'range' }>): number {
  return (
    partitions.targetRowsPerSegment ??
    Math.max(1, Math.floor((partitions.maxRowsPerSegment ?? 1) / maxRowsPerTarget))
  )
}
