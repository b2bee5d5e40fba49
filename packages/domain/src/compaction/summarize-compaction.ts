import { countOf, formatBytes } from '../text/index.ts'
import type { CompactionPlan } from './plan-compaction.ts'
import type { CompactionSchedule } from './schedule.ts'

/** The state of compaction that a summary reads. */
export interface SummarizedCompaction {
  readonly plan: CompactionPlan
  /** What the next run decides. */
  readonly schedule: CompactionSchedule
}

/**
 * Returns what compaction is doing and what is holding it up, in sentences. Returns none if nothing needs compaction.
 * Counts only datasources that the reader may read.
 */
export function summarizeCompaction(
  { plan, schedule }: SummarizedCompaction,
  sees: (dataSource: string) => boolean,
): string[] {
  const seen = ({ dataSource }: { readonly dataSource: string }): boolean => sees(dataSource)
  const awaiting = plan.candidates.filter((candidate) => candidate.eligible && seen(candidate))
  const locked = plan.skipped.filter((skipped) => skipped.code === 'INTERVAL_LOCKED' && seen(skipped))
  const compacting = plan.skipped.filter((skipped) => skipped.code === 'BEING_COMPACTED' && seen(skipped))
  const withoutSlots = awaiting.filter(({ demand }) => demand.floor > plan.slots).length
  const postponed = schedule.postponed.filter(({ candidate }) => seen(candidate))
  const bytes = awaiting.reduce((sum, { figures }) => sum + figures.bytes, 0)
  const sentences: string[] = []
  if (compacting.length > 0)
    sentences.push(
      `${countOf(compacting.length, 'interval')} ${compacting.length === 1 ? 'is' : 'are'} being compacted, for example in [${compacting[0]!.dataSource}]: ${compacting[0]!.reason}`,
    )
  if (awaiting.length > 0)
    sentences.push(
      `${countOf(awaiting.length, 'interval')} (${formatBytes(bytes)}) ${awaiting.length === 1 ? 'awaits' : 'await'} compaction; running tasks use ${schedule.slotsTaken} of ${countOf(plan.slots, 'task slot')}`,
    )
  if (withoutSlots > 0)
    sentences.push(`Compaction has too few task slots to compact ${countOf(withoutSlots, 'interval')}`)
  if (postponed.length > 0)
    sentences.push(
      `Compaction of ${countOf(postponed.length, 'interval')} failed or changed nothing (for example, task [${postponed[0]!.last.taskId}]), and will be retried later`,
    )
  const [first] = locked
  if (first !== undefined)
    sentences.push(
      `Compaction is waiting for locks on ${countOf(locked.length, 'interval')}, for example in [${first.dataSource}]: ${first.reason}`,
    )
  return sentences
}
