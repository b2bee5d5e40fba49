import { formatInterval } from '../time/index.ts'
import { addFigures } from './compaction-segment.ts'
import type { CompactionPlan, DatasourceFindings } from './plan-compaction.ts'
import type { SlotDemand } from './slots.ts'

/**
 * Returns the compaction status of a datasource for the status endpoints. Everything that is neither compacted nor
 * awaiting counts as skipped, including intervals that the policy postpones. Each segment counts once. All values are 0
 * if the datasource has no data.
 */
export function describeStatus(plan: CompactionPlan, dataSource: string) {
  const counts = plan.counts.get(dataSource)
  if (counts === undefined) throw new Error(`No compaction plan for datasource [${dataSource}]`)
  const { compacted, awaiting } = counts
  const skipped = addFigures(addFigures(counts.skipped, counts.ineligible), counts.leftOut)
  const hasData = compacted.segments + awaiting.segments + skipped.segments > 0
  return {
    dataSource,
    scheduleStatus: 'RUNNING' as const,
    // As in Druid 37, which has no status of a datasource without data.
    ...(hasData ? { message: null } : {}),
    bytesAwaitingCompaction: awaiting.bytes,
    bytesCompacted: compacted.bytes,
    bytesSkipped: skipped.bytes,
    segmentCountAwaitingCompaction: awaiting.segments,
    segmentCountCompacted: compacted.segments,
    segmentCountSkipped: skipped.segments,
    intervalCountAwaitingCompaction: awaiting.intervals,
    intervalCountCompacted: compacted.intervals,
    intervalCountSkipped: skipped.intervals,
  }
}

/** The compaction status of a datasource. */
export type CompactionStatus = ReturnType<typeof describeStatus>

/** Returns all intervals of a datasource by status. Those that await compaction are in the order of the policy. */
export function describeIntervals(plan: CompactionPlan, { config, compactedIntervals }: DatasourceFindings) {
  const { dataSource } = config
  const candidates = plan.candidates.filter((candidate) => candidate.dataSource === dataSource)
  return {
    awaiting: candidates
      .filter(({ eligible }) => eligible)
      .map(({ interval, compactionInterval, figures, mode, slots, reason, demand }) => ({
        interval: formatInterval(interval),
        compactionInterval: formatInterval(compactionInterval),
        bytes: figures.bytes,
        segments: figures.segments,
        mode,
        slots,
        reason: demand.floor > plan.slots ? `${reason}; ${tooFewSlots(demand, plan)}` : reason,
      })),
    skipped: [
      ...plan.skipped.filter((skipped) => skipped.dataSource === dataSource),
      ...candidates.filter(({ eligible }) => !eligible),
    ].map(({ interval, code, reason, figures }) => ({
      interval: formatInterval(interval),
      code,
      reason,
      bytes: figures.bytes,
      segments: figures.segments,
    })),
    compacted: compactedIntervals.map(({ interval, figures }) => ({
      interval: formatInterval(interval),
      bytes: figures.bytes,
      segments: figures.segments,
    })),
  }
}

/** Explains why a job cannot run although its interval awaits compaction. */
const tooFewSlots = ({ floor }: SlotDemand, { slots }: CompactionPlan): string =>
  `compacting this interval needs at least [${floor}] task slots, but compaction can use only [${slots}]`
