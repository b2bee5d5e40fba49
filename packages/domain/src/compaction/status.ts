import { formatInterval } from '../time/index.ts'
import { addFigures } from './compaction-segment.ts'
import type { CompactionPlan, DatasourceFindings } from './plan-compaction.ts'
import type { SlotDemand } from './slots.ts'

/**
 * How far the compaction of a datasource is, as the status endpoints tell it. Skipped is all that is neither compacted
 * nor awaiting: also what the policy does not let be compacted. Each segment counts once. All zeros where the datasource
 * has no data.
 */
export function describeStatus(plan: CompactionPlan, dataSource: string) {
  const counts = plan.counts.get(dataSource)
  if (counts === undefined) throw new Error(`the plan does not know [${dataSource}]`)
  const { compacted, awaiting } = counts
  const skipped = addFigures(addFigures(counts.skipped, counts.ineligible), counts.leftOut)
  return {
    dataSource,
    scheduleStatus: 'RUNNING' as const,
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

/** The status of a datasource in figures. */
export type CompactionStatus = ReturnType<typeof describeStatus>

/** Every interval of a datasource with what becomes of it; those awaiting are in the order in which they are taken. */
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

/** Why a job will not run as things are, though its interval awaits compaction. */
const tooFewSlots = ({ floor }: SlotDemand, { slots }: CompactionPlan): string =>
  `its job takes at least [${floor}] task slots, and compaction has [${slots}]`
