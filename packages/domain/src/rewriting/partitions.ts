import type { CompactionConfig, PartitionsSpec } from '../compaction-config/index.ts'

const defaultPartitions: PartitionsSpec = {
  type: 'dynamic',
  maxRowsPerSegment: 5_000_000,
  maxTotalRows: null,
}
// A segment may have half as many rows again as is aimed at.
const mostRowsPerTarget = 1.5

/** How the rows of one interval are spread, also where the configuration leaves it open. */
export function partitionsOf(config: CompactionConfig): PartitionsSpec {
  const { tuningConfig, maxRowsPerSegment } = config
  if (tuningConfig?.partitionsSpec) return tuningConfig.partitionsSpec
  return maxRowsPerSegment === null ? defaultPartitions : { ...defaultPartitions, maxRowsPerSegment }
}

/** How many rows a segment has at the most; undefined where the number of segments is given instead. */
export function mostRowsOf(partitions: PartitionsSpec): number | undefined {
  if (partitions.type !== 'range') return partitions.maxRowsPerSegment ?? undefined
  const { maxRowsPerSegment, targetRowsPerSegment } = partitions
  return maxRowsPerSegment ?? Math.floor((targetRowsPerSegment ?? 1) * mostRowsPerTarget)
}

/** How many rows a segment has about, where ranges are cut. */
export function targetRowsOf(partitions: Extract<PartitionsSpec, { type: 'range' }>): number {
  return (
    partitions.targetRowsPerSegment ??
    Math.max(1, Math.floor((partitions.maxRowsPerSegment ?? 1) / mostRowsPerTarget))
  )
}
