import type {
  ClusterCompactionConfig,
  CompactionConfig,
  CompactionEngine,
} from '../compaction-config/index.ts'

/** Task slots that a job takes: it waits for `least`, and has no use for more than `most`. */
export interface SlotDemand {
  readonly least: number
  readonly most: number
  /** It cannot run with fewer than these, even where there will never be more. */
  readonly floor: number
}

// A job of the msq engine has a controller and at least one worker.
const leastOfMsq = 2
// As many as the recorded system gives to a job of that engine which does not say how many it wants.
const mostOfMsq = 5

/** The engine that compacts a datasource. */
export const engineOf = (
  cluster: Pick<ClusterCompactionConfig, 'engine'>,
  config: Pick<CompactionConfig, 'engine'>,
): CompactionEngine => config.engine ?? cluster.engine

/**
 * The task slots of one job. In the native engine a job with subtasks takes one for each and one for itself, and has
 * subtasks from maxNumConcurrentSubTasks 2, with range partitions from 1. In the msq engine it takes
 * taskContext.maxNumTasks, or what there is up to 5.
 */
export function slotDemand(
  cluster: Pick<ClusterCompactionConfig, 'engine'>,
  config: Pick<CompactionConfig, 'engine' | 'tuningConfig' | 'taskContext'>,
): SlotDemand {
  const { tuningConfig, taskContext } = config
  if (engineOf(cluster, config) === 'msq') {
    const wanted = Number(taskContext?.maxNumTasks)
    if (!Number.isInteger(wanted)) return { least: leastOfMsq, most: mostOfMsq, floor: leastOfMsq }
    const slots = Math.max(wanted, leastOfMsq)
    return { least: slots, most: slots, floor: leastOfMsq }
  }
  const subTasks = tuningConfig?.maxNumConcurrentSubTasks ?? 0
  const isParallel = subTasks >= (tuningConfig?.partitionsSpec?.type === 'range' ? 1 : 2)
  const slots = isParallel ? subTasks + 1 : 1
  return { least: slots, most: slots, floor: 1 }
}

/**
 * The task slots that compaction may take at a time: a share of all workers', and no more than the maximum. As long as
 * there is a share at all it is enough for one job that takes the fewest slots (`leastOfJobs`), so that a small
 * cluster is compacted too.
 */
export function compactionSlots(
  cluster: Pick<ClusterCompactionConfig, 'compactionTaskSlotRatio' | 'maxCompactionTaskSlots'>,
  workerCapacity: number,
  leastOfJobs = 1,
): number {
  const { compactionTaskSlotRatio, maxCompactionTaskSlots } = cluster
  if (compactionTaskSlotRatio <= 0) return 0
  const share = Math.max(Math.floor(workerCapacity * compactionTaskSlotRatio), leastOfJobs)
  return Math.min(share, maxCompactionTaskSlots, workerCapacity)
}

/** A job that waits for slots. */
export interface SlotClaim<Job> {
  readonly job: Job
  readonly demand: SlotDemand
}

/** A job that has its slots. */
export interface SlotGrant<Job> {
  readonly job: Job
  readonly slots: number
}

/**
 * Gives slots to jobs in their order, `taken` of `capacity` being in use. A job that wants more than there will ever
 * be gets all there is, once nothing else runs; if that is below its floor it is passed over. One that does not fit
 * yet is waited for: smaller ones behind it must not take the slots that it needs, or it would wait forever.
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
    const least = Math.min(demand.least, capacity)
    if (least > free) break
    const slots = Math.min(demand.most, free)
    grants.push({ job, slots })
    free -= slots
  }
  return grants
}
