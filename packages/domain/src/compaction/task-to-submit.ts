import { formatInterval } from '../time/index.ts'
import type { JsonObject } from '../validation/index.ts'
import { type CompactionConfig, type CompactionEngine, formatCompactionConfig } from './config/index.ts'
import type { CompactionCandidate } from './plan-compaction.ts'

/** The type of compact tasks. */
export const compactTaskType = 'compact'

/** Why a task was submitted. The scheduler reads it back from submitted tasks. */
export interface CompactTaskOrigin {
  /** Task slots in use until the task ends. */
  readonly slots: number
  /** Bytes that the task reads. */
  readonly bytes: number
  readonly configFingerprint: string
  readonly segmentsFingerprint: string
  readonly reason: string
}

/**
 * Returns the task that compacts the interval of a candidate with the configuration of its datasource. The task
 * contains the interval, or only the uncompacted segments if only those are rewritten. It stores the compaction state,
 * so that the new segments count as compacted.
 */
export function taskToSubmit(
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
    type: compactTaskType,
    id,
    dataSource,
    ioConfig: { type: compactTaskType, inputSpec, dropExisting: config.ioConfig?.dropExisting ?? false },
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
