import type { ClusterCompactionConfig, CompactionConfig, CompactionEngine } from './config/index.ts'

/** Task slots of a job: it waits for `least` and uses at most `most`. */
export interface SlotDemand {
  readonly min: number
  readonly max: number
  /** Absolute minimum. The job cannot run with fewer, even if the capacity is lower. */
  readonly floor: number
}

// An msq job has a controller and at least one worker.
const minMsqSlots = 2
// Default of Druid 37 for msq jobs without maxNumTasks.
const maxMsqSlots = 5

/** Returns the engine that compacts a datasource. */
export const engineOf = (
  cluster: Pick<ClusterCompactionConfig, 'engine'>,
  config: Pick<CompactionConfig, 'engine'>,
): CompactionEngine => config.engine ?? cluster.engine

/**
 * Returns the task slots of one job. A native job with subtasks uses one slot for each subtask and one for itself. It
 * has subtasks if maxNumConcurrentSubTasks is at least 2, or at least 1 with range partitions. An msq job uses
 * taskContext.maxNumTasks slots, or by default 2 to 5 slots, depending on what is free.
 */
export function slotDemand(
  cluster: Pick<ClusterCompactionConfig, 'engine'>,
  config: Pick<CompactionConfig, 'engine' | 'tuningConfig' | 'taskContext'>,
): SlotDemand {
  const { tuningConfig, taskContext } = config
  if (engineOf(cluster, config) === 'msq') {
    const wanted = Number(taskContext?.maxNumTasks)
    if (!Number.isInteger(wanted)) return { min: minMsqSlots, max: maxMsqSlots, floor: minMsqSlots }
    const slots = Math.max(wanted, minMsqSlots)
    return { min: slots, max: slots, floor: minMsqSlots }
  }
  const subTasks = tuningConfig?.maxNumConcurrentSubTasks ?? 0
  const isParallel = subTasks >= (tuningConfig?.partitionsSpec?.type === 'range' ? 1 : 2)
  const slots = isParallel ? subTasks + 1 : 1
  return { min: slots, max: slots, floor: 1 }
}

/**
 * Returns the maximum number of concurrent compaction task slots: a share of all worker slots, up to the configured
 * maximum. If the ratio is greater than 0, the share is at least `minSlotsOfJobs`, so that compaction also works in small
 * clusters.
 */
export function compactionSlots(
  cluster: Pick<ClusterCompactionConfig, 'compactionTaskSlotRatio' | 'maxCompactionTaskSlots'>,
  workerCapacity: number,
  minSlotsOfJobs = 1,
): number {
  const { compactionTaskSlotRatio, maxCompactionTaskSlots } = cluster
  if (compactionTaskSlotRatio <= 0) return 0
  const share = Math.max(Math.floor(workerCapacity * compactionTaskSlotRatio), minSlotsOfJobs)
  return Math.min(share, maxCompactionTaskSlots, workerCapacity)
}

/** A job that waits for slots. */
export interface SlotClaim<Job> {
  readonly job: Job
  readonly demand: SlotDemand
}

/** A job with its granted slots. */
export interface SlotGrant<Job> {
  readonly job: Job
  readonly slots: number
}

/**
 * Grants slots to jobs in order. `taken` of `capacity` slots are already in use. A job that needs more than the
 * capacity gets all slots once nothing else runs, or is skipped if the capacity is below its floor. A job that does not
 * fit yet blocks smaller jobs after it, because it would otherwise wait forever.
 */
export function grantSlots<Job>(
  claims: Iterable<SlotClaim<Job>>,
  capacity: number,
  taken: number,
): SlotGrant<Job>[] {
  const grants: SlotGrant<Job>[] = []
  let free = capacity - taken
  for (const { job, demand } of claims) {
    if (free <= 0) break
    if (demand.floor > capacity) continue
    const min = Math.min(demand.min, capacity)
    if (min > free) break
    const slots = Math.min(demand.max, free)
    grants.push({ job, slots })
    free -= slots
  }
  return grants
}
