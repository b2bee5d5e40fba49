import { setImmediate } from 'node:timers/promises'
import {
  assemblePlan,
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
import { type Interval, parseInterval } from '@svc/domain/time'
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
import { createCompactionInventory } from './compaction-inventory.ts'

/** What runs compaction: the coordinator's duty, or the overlord's supervisors. */
export type CompactionDriver = 'duty' | 'supervisors'

/** A plan for the current state of the cluster. */
export interface LivePlan {
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
}

/** Plans compaction for the current state of the cluster. */
export interface CompactionPlanner {
  /** Returns what currently runs compaction. */
  driver(): Promise<CompactionDriver>
  /** Returns the plan for the datasources that `driver` compacts; defaults to what currently runs compaction. */
  plan(driver?: CompactionDriver, assumptions?: PlanAssumptions): Promise<LivePlan>
}

// Long enough to count consecutive failures up to the maximum backoff of an interval.
const pastMs = 12 * 60 * 60 * 1000

interface Remembered {
  readonly segments: readonly CompactionSegment[]
  /** Config and locks as a string. */
  readonly key: string
  readonly findings: DatasourceFindings
}

/** The findings of the last plan, which the next plan reuses where nothing has changed. */
class KnownFindings {
  private readonly byDatasource = new Map<string, Remembered>()

  search(
    config: CompactionConfig,
    segments: readonly CompactionSegment[],
    locks: readonly LockedInterval[],
  ): DatasourceFindings {
    const key = JSON.stringify([formatCompactionConfig(config), locks])
    const known = this.byDatasource.get(config.dataSource)
    if (known?.segments === segments && known.key === key) return known.findings
    const findings = searchDatasource(config, segments, locks)
    this.byDatasource.set(config.dataSource, { segments, key, findings })
    return findings
  }

  /** Forgets all other datasources. */
  retain(dataSources: ReadonlySet<string>): void {
    for (const dataSource of this.byDatasource.keys())
      if (!dataSources.has(dataSource)) this.byDatasource.delete(dataSource)
  }
}

/** Creates a planner that reads only changes, and plans again only for datasources with changes. */
export function createCompactionPlanner(
  context: Pick<ServiceContext, 'database' | 'discovery' | 'clock'>,
): CompactionPlanner {
  const { database, discovery, clock } = context
  const inventory = createCompactionInventory(database)
  const known = new KnownFindings()
  let last: Promise<unknown> = Promise.resolve()

  async function planNow(
    requestedDriver: CompactionDriver | undefined,
    given: PlanAssumptions,
  ): Promise<LivePlan> {
    const present = await loadClusterCompactionConfig(database)
    const list = given.configs ?? (await configsOf(database, requestedDriver ?? driverOf(present)))
    const configs = new Map(list.map((config) => [config.dataSource, config]))
    const { findings, past } =
      given.segments === undefined
        ? await searchLive(list, given.configs === undefined)
        : { findings: await searchGiven(list, given.segments), past: [] }
    const cluster = given.cluster ?? present
    return {
      cluster,
      configs,
      findings: new Map(findings.map((one) => [one.config.dataSource, one])),
      plan: assemblePlan(cluster, totalWorkerCapacity(discovery), findings),
      past,
    }
  }

  /** Searches the current segments. A preview must not evict findings that the next plan can reuse. */
  async function searchLive(configs: readonly CompactionConfig[], isPresent: boolean) {
    // Read tasks before segments: a task that ends in between still counts as running, so its interval must wait.
    const { past, locksOf } = await loadLocks(database, clock.now() - pastMs)
    const dataSources = new Set(configs.map(({ dataSource }) => dataSource))
    await inventory.refresh([...dataSources])
    const findings: DatasourceFindings[] = []
    for (const config of configs) {
      const segments = inventory.segmentsOf(config.dataSource)
      const locks = locksOf(config)
      findings.push(
        isPresent ? known.search(config, segments, locks) : searchDatasource(config, segments, locks),
      )
      // Other requests run between datasources.
      await setImmediate()
    }
    if (isPresent) known.retain(dataSources)
    return { findings, past }
  }

  return {
    driver: async () => driverOf(await loadClusterCompactionConfig(database)),
    plan: (driver, given = {}) => {
      // Sequential, because the inventory reads changes in order.
      const next = last.then(() => planNow(driver, given))
      last = next.catch(() => undefined)
      return next
    },
  }
}

const driverOf = ({ useSupervisors }: ClusterCompactionConfig): CompactionDriver =>
  useSupervisors ? 'supervisors' : 'duty'

async function configsOf(database: Database, driver: CompactionDriver): Promise<CompactionConfig[]> {
  if (driver === 'duty') return await loadCompactionConfigs(database)
  const supervisors = await loadCompactionSupervisors(database)
  return supervisors.filter(({ suspended }) => !suspended).map(({ config }) => config)
}

/** Searches segments that a preview assumes. */
async function searchGiven(
  configs: readonly CompactionConfig[],
  segments: readonly CompactionSegment[],
): Promise<DatasourceFindings[]> {
  const byDatasource = Map.groupBy(segments, ({ dataSource }) => dataSource)
  const findings: DatasourceFindings[] = []
  for (const config of configs) {
    findings.push(searchDatasource(config, byDatasource.get(config.dataSource) ?? [], []))
    await setImmediate()
  }
  return findings
}

/** Returns past compact tasks, and the intervals of each datasource that must wait for locks or running tasks. */
async function loadLocks(database: Database, sinceMs: number) {
  const past = (await loadCompactTasks(database, sinceMs)).flatMap(readPast)
  const unfinished = Map.groupBy(
    past.filter(({ ended }) => ended === undefined),
    ({ dataSource }) => dataSource,
  )
  const locks = Map.groupBy(await loadTaskLocks(database), ({ dataSource }) => dataSource)
  const locksOf = ({ dataSource, taskPriority }: CompactionConfig): LockedInterval[] => {
    // Tasks of a lower priority are preempted.
    const blocking = (locks.get(dataSource) ?? []).filter(({ priority }) => priority >= taskPriority)
    return [...blocking, ...(unfinished.get(dataSource) ?? [])].map(({ interval, taskId }) => ({
      dataSource,
      interval,
      taskId,
    }))
  }
  return { past, locksOf }
}

/** Converts a task for scheduling. Returns an empty list if the task has no valid interval. */
function readPast(task: CompactTaskRecord): (PastCompaction & { taskId: string })[] {
  const interval = task.interval === null ? undefined : tryInterval(task.interval)
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
    },
  ]
}

function tryInterval(text: string): Interval | undefined {
  try {
    return parseInterval(text)
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}
