import {
  type CompactionConfig,
  type CompactionEngine,
  formatCompactionConfig,
} from '../compaction-config/index.ts'
import { formatInterval } from '../time/index.ts'
import type { JsonObject } from '../validation/index.ts'
import type { CompactionCandidate } from './plan-compaction.ts'

/** What a task knows about why it is there; the scheduler reads it back from the tasks that were submitted. */
export interface CompactTaskOrigin {
  /** Task slots that count as taken while it has not ended. */
  readonly slots: number
  readonly configFingerprint: string
  readonly segmentsFingerprint: string
  readonly reason: string
}

/**
 * The task that compacts the interval of a candidate as its datasource is configured. It names the interval, or the
 * segments where only the uncompacted ones are to be rewritten; that it stores a compaction state is what makes them
 * count as compacted afterwards.
 */
export function compactTask(
  id: string,
  candidate: CompactionCandidate,
  config: CompactionConfig,
  engine: CompactionEngine,
  origin: CompactTaskOrigin,
): JsonObject {
  const { dataSource, granularitySpec, dimensionsSpec, metricsSpec, transformSpec, ioConfig, ...rest } =
    formatCompactionConfig(config)
  const interval = formatInterval(candidate.compactionInterval)
  const inputSpec =
    candidate.mode === 'UNCOMPACTED_SEGMENTS_ONLY'
      ? { type: 'uncompacted', interval, segments: candidate.uncompactedSegments.map((one) => one.id).sort() }
      : { type: 'interval', interval }
  const { maxRowsPerSegment } = config
  const partitionsSpec = { type: 'dynamic', maxRowsPerSegment }
  const tuningConfig =
    maxRowsPerSegment !== null && !config.tuningConfig?.partitionsSpec
      ? { ...config.tuningConfig, partitionsSpec }
      : rest.tuningConfig
  return {
    type: 'compact',
    id,
    dataSource,
    ioConfig: { type: 'compact', inputSpec, dropExisting: config.ioConfig?.dropExisting ?? false },
    granularitySpec,
    dimensionsSpec,
    metricsSpec,
    transformSpec,
    ...('projections' in rest ? { projections: rest.projections } : {}),
    tuningConfig,
    context: {
      ...config.taskContext,
      ...(engine === 'msq' ? { maxNumTasks: origin.slots } : {}),
      priority: config.taskPriority,
      storeCompactionState: true,
      compaction: origin,
    },
  }
}
