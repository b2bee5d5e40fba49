import {
  assemblePlan,
  assertRunnableBy,
  type ClusterCompactionConfig,
  type CompactionConfig,
  type CompactionPlan,
  type CompactionSegment,
  type DatasourceFindings,
  formatCompactionConfig,
  type LockedInterval,
  type PastCompaction,
  searchDatasource,
} from '@svc/domain/compaction'
import { Failure } from '@svc/domain/failure'
import { parseInterval } from '@svc/domain/time'
import { totalWorkerCapacity } from '../discovery/index.ts'
import {
  type CompactTaskRecord,
  type Database,
  loadClusterCompactionConfig,
  loadCompactionConfigs,
  loadCompactionSupervisors,
  loadCompactTasks,
  loadTaskLocks,
} from '../postgres/index.ts'
import type { ServiceContext } from '../service/index.ts'
import { finishInSlices } from '../slices/index.ts'
import { createCompactionInventory } from './compaction-inventory.ts'

/** What runs compaction: the coordinator's duty, or the overlord's supervisors. */
export type CompactionDriver = 'duty' | 'supervisors'

/** A plan for the current state of the cluster. */
export interface LivePlan {
  readonly driver: CompactionDriver
  readonly cluster: ClusterCompactionConfig
  readonly configs: ReadonlyMap<string, CompactionConfig>
  readonly findings: ReadonlyMap<string, DatasourceFindings>
  readonly plan: CompactionPlan
  /** Compact tasks of the last 12 hours, and those that have not ended. */
  readonly past: readonly PastCompaction[]
}

/** Overrides of the current state of the cluster. */
export interface PlanAssumptions {
  readonly cluster?: ClusterCompactionConfig | undefined
  readonly configs?: readonly CompactionConfig[] | undefined
  readonly segments?: readonly CompactionSegment[] | undefined
  /** Number of tasks that all workers together can run at the same time. */
  readonly workerCapacity?: number | undefined
}

/** A plan to make. By default, it is for the datasources that the cluster currently compacts. */
export interface PlanRequest extends PlanAssumptions {
  readonly driver?: CompactionDriver | undefined
  /** Whose stored configurations to use. By default, those of `driver`. Without those that `driver` cannot run. */
  readonly configsOf?: CompactionDriver | undefined
}

/** Plans compaction for the current state of the cluster. */
export interface CompactionPlanner {
  /** Returns what currently runs compaction. */
  driver(): Promise<CompactionDriver>
  /** Returns the plan for the datasources that `driver` compacts; defaults to what currently runs compaction. */
  plan(driver?: CompactionDriver, assumptions?: PlanAssumptions): Promise<LivePlan>
  /** Returns several plans for the same snapshot of the segments, tasks, and locks. */
  planEach(requests: readonly PlanRequest[]): Promise<LivePlan[]>
}

// Long enough to count consecutive failures up to the maximum backoff of an interval.
const pastMs = 12 * 60 * 60 * 1000

interface Remembered {
  readonly segments: readonly CompactionSegment[]
  /** Config and locks as a string. */
  readonly key: string
  readonly findings: DatasourceFindings
}

/** Creates a planner that reads only changes, and plans again only for datasources with changes. */
export function createCompactionPlanner(
  context: Pick<ServiceContext, 'database' | 'discovery' | 'clock'>,
): CompactionPlanner {
  const { database, discovery } = context
  const findPresent = createFinder(context)
  let last: Promise<unknown> = Promise.resolve()

  async function requestOf(
    present: ClusterCompactionConfig,
    { driver = driverOf(present), cluster = present, configs, configsOf = driver, ...given }: PlanRequest,
  ): Promise<ResolvedRequest> {
    const { segments, workerCapacity = totalWorkerCapacity(discovery) } = given
    const stored = configs ?? (await storedConfigs(database, configsOf))
    const list = configsOf === driver ? stored : stored.filter((config) => isRunnableBy(config, cluster))
    // A preview must not evict findings that the next plan can reuse.
    return { driver, cluster, configs: list, segments, workerCapacity, remembers: configs === undefined }
  }

  async function planNow(requests: readonly PlanRequest[]): Promise<LivePlan[]> {
    const present = await loadClusterCompactionConfig(database)
    const resolved: ResolvedRequest[] = []
    for (const request of requests) resolved.push(await requestOf(present, request))
    const live = resolved.filter(({ segments }) => segments === undefined)
    const search = live.length === 0 ? undefined : await findPresent(live.flatMap(({ configs }) => configs))
    const plans: LivePlan[] = []
    for (const { driver, cluster, configs, segments, workerCapacity, remembers } of resolved) {
      const { found, past } =
        segments === undefined
          ? await search!(configs, remembers && requests.length === 1)
          : await findInSegments(configs, segments)
      plans.push({
        driver,
        cluster,
        configs: new Map(configs.map((config) => [config.dataSource, config])),
        findings: new Map(found.map((one) => [one.config.dataSource, one])),
        plan: await finishInSlices(assemblePlan(cluster, workerCapacity, found)),
        past,
      })
    }
    return plans
  }

  function planEach(requests: readonly PlanRequest[]): Promise<LivePlan[]> {
    // Sequential, because the inventory reads changes in order.
    const next = last.then(() => planNow(requests))
    last = next.catch(() => undefined)
    return next
  }

  return {
    driver: async () => driverOf(await loadClusterCompactionConfig(database)),
    plan: async (driver, given = {}) => (await planEach([{ driver, ...given }]))[0]!,
    planEach,
  }
}

interface ResolvedRequest {
  readonly driver: CompactionDriver
  readonly cluster: ClusterCompactionConfig
  readonly configs: readonly CompactionConfig[]
  readonly segments: readonly CompactionSegment[] | undefined
  readonly workerCapacity: number
  readonly remembers: boolean
}

/** Returns what runs compaction with a configuration. */
export const driverOf = ({ useSupervisors }: ClusterCompactionConfig): CompactionDriver =>
  useSupervisors ? 'supervisors' : 'duty'

async function storedConfigs(database: Database, driver: CompactionDriver): Promise<CompactionConfig[]> {
  if (driver === 'duty') return await loadCompactionConfigs(database)
  const supervisors = await loadCompactionSupervisors(database)
  return supervisors.filter(({ suspended }) => !suspended).map(({ config }) => config)
}

const isRunnableBy = (config: CompactionConfig, cluster: ClusterCompactionConfig): boolean =>
  unlessFailed(() => {
    assertRunnableBy(config, cluster)
    return true
  }) ?? false

/** What can be compacted, by datasource, and the compactions of the last hours. */
interface Findings {
  readonly found: readonly DatasourceFindings[]
  readonly past: readonly PastCompaction[]
}

/**
 * Returns a function that reads the stored segments and tasks, and returns a function that searches them. `remembers`
 * reuses and keeps findings for unchanged datasources.
 */
function createFinder({ database, clock }: Pick<ServiceContext, 'database' | 'clock'>) {
  const inventory = createCompactionInventory(database)
  let remembered = new Map<string, Remembered>()

  async function search(
    config: CompactionConfig,
    segments: readonly CompactionSegment[],
    locks: readonly LockedInterval[],
  ): Promise<DatasourceFindings> {
    const key = JSON.stringify([formatCompactionConfig(config), locks])
    const known = remembered.get(config.dataSource)
    if (known?.segments === segments && known.key === key) return known.findings
    const findings = await searchInSlices(config, segments, locks)
    remembered.set(config.dataSource, { segments, key, findings })
    return findings
  }

  return async (all: readonly CompactionConfig[]) => {
    // Read tasks before segments: a task that ends in between still counts as running, so its interval must wait.
    const past = (await loadCompactTasks(database, clock.now() - pastMs)).flatMap(readPast)
    const lockedIn = lockedIntervals(past, await loadTaskLocks(database))
    await inventory.refresh([...new Set(all.map(({ dataSource }) => dataSource))])
    return async (configs: readonly CompactionConfig[], remembers: boolean): Promise<Findings> => {
      const found: DatasourceFindings[] = []
      for (const config of configs) {
        const segments = inventory.segmentsOf(config.dataSource)
        found.push(await (remembers ? search : searchInSlices)(config, segments, lockedIn(config)))
      }
      if (remembers) {
        const names = new Set(configs.map(({ dataSource }) => dataSource))
        remembered = new Map([...remembered].filter(([dataSource]) => names.has(dataSource)))
      }
      return { found, past }
    }
  }
}

const searchInSlices = (...input: Parameters<typeof searchDatasource>): Promise<DatasourceFindings> =>
  finishInSlices(searchDatasource(...input))

/** Searches given segments, as if no task had ever run. */
async function findInSegments(
  configs: readonly CompactionConfig[],
  segments: readonly CompactionSegment[],
): Promise<Findings> {
  const byDatasource = Map.groupBy(segments, ({ dataSource }) => dataSource)
  const found: DatasourceFindings[] = []
  for (const config of configs) {
    found.push(await searchInSlices(config, byDatasource.get(config.dataSource) ?? [], []))
  }
  return { found, past: [] }
}

/** Returns a function that returns the intervals of a datasource that other tasks work on. */
function lockedIntervals(
  past: readonly PastCompaction[],
  taskLocks: Awaited<ReturnType<typeof loadTaskLocks>>,
): (config: CompactionConfig) => LockedInterval[] {
  const unfinished = Map.groupBy(
    past.filter(({ ended }) => ended === undefined),
    ({ dataSource }) => dataSource,
  )
  const compacting = new Set([...unfinished.values()].flat().map(({ taskId }) => taskId))
  const locks = Map.groupBy(taskLocks, ({ dataSource }) => dataSource)
  return ({ dataSource, taskPriority }) => {
    // Tasks of a lower priority are preempted.
    const blocking = (locks.get(dataSource) ?? []).filter(({ priority }) => priority >= taskPriority)
    return [...blocking, ...(unfinished.get(dataSource) ?? [])].map(({ interval, taskId }) => ({
      dataSource,
      interval,
      taskId,
      isCompaction: compacting.has(taskId),
    }))
  }
}

/** Converts a task for scheduling. Returns an empty list if the task has no valid interval. */
function readPast(task: CompactTaskRecord): PastCompaction[] {
  const interval = task.interval === null ? undefined : unlessFailed(() => parseInterval(task.interval!))
  if (interval === undefined) return []
  const origin = (typeof task.origin === 'object' ? (task.origin ?? {}) : {}) as Record<string, unknown>
  const isOver = task.state === 'SUCCESS' || task.state === 'FAILED'
  return [
    {
      taskId: task.id,
      dataSource: task.dataSource,
      interval,
      ended: isOver ? { succeeded: task.state === 'SUCCESS', at: task.finishedAt ?? 0 } : undefined,
      // Tasks of users do not count against the compaction slots; otherwise, submitting many would stop compaction.
      slots: typeof origin.slots === 'number' ? origin.slots : 0,
      configFingerprint: String(origin.configFingerprint ?? ''),
      segmentsFingerprint: String(origin.segmentsFingerprint ?? ''),
      work:
        typeof origin.bytes === 'number'
          ? { bytes: origin.bytes, waitMs: task.waitMs, durationMs: task.durationMs ?? undefined }
          : undefined,
    },
  ]
}

/** Returns a result; undefined if a Failure is thrown. */
function unlessFailed<Result>(of: () => Result): Result | undefined {
  try {
    return of()
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}
