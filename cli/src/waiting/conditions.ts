import { type CompactionStatus, compactTaskType } from '@svc/domain/compaction'
import type { ClusterClient } from '../client/index.ts'
import { clusterStatus } from '../cluster/index.ts'
import type { HomeLayout } from '../home/index.ts'
import { countOf } from '../terminal/index.ts'
import { loadUnfinishedTasks } from './unfinished-tasks.ts'
import type { Condition } from './wait-until.ts'

/** Every process of the cluster of a home is ready, as `./svc status` shows it. */
export const processesAreReady =
  (home: HomeLayout): Condition =>
  async () => {
    const { isRunning, isReady, processes, problem } = await clusterStatus(home)
    if (isReady) return []
    const waiting = processes
      .filter(({ state }) => state !== 'ready')
      .map((one) => `${one.instance} is ${one.state}${one.problem === null ? '' : ` (${one.problem})`}`)
    if (isRunning && waiting.length > 0) return waiting
    return [problem ?? 'the cluster is starting']
  }

/** A coordinator and an overlord are the leaders, and the router knows a broker. */
export const leadersAnswer =
  (client: ClusterClient): Condition =>
  async () => {
    await client.send('GET', '/svc/coordinator/v1/leader')
    await client.send('GET', '/svc/indexer/v1/leader')
    const brokers = (await client.send('GET', '/svc/router/v1/brokers')) as object
    return Object.values(brokers).flat().length > 0 ? [] : ['no broker is available']
  }

/** What `segmentsAreLoaded` waits for. */
export interface LoadedQuery {
  /** Default: all datasources. */
  readonly dataSource?: string | undefined
  /** Every replica that the rules require, instead of one of each segment. */
  readonly allReplicas: boolean
}

/** Servers have loaded the segments that rules load. */
export const segmentsAreLoaded =
  (client: ClusterClient, { dataSource, allReplicas }: LoadedQuery): Condition =>
  async () => {
    const counts = allReplicas ? await missingReplicas(client) : await unloadedSegments(client)
    if (dataSource !== undefined && !Object.hasOwn(counts, dataSource))
      return [`datasource [${dataSource}] has no used segments`]
    return Object.entries(counts)
      .filter(([name, count]) => count > 0 && (dataSource === undefined || name === dataSource))
      .map(([name, count]) =>
        allReplicas
          ? `datasource [${name}] is missing ${countOf(count, 'replica')}`
          : `${countOf(count, 'segment')} of datasource [${name}] ${count === 1 ? 'is' : 'are'} not loaded`,
      )
  }

const loadStatus = '/svc/coordinator/v1/loadstatus'

async function unloadedSegments(client: ClusterClient): Promise<Readonly<Record<string, number>>> {
  return (await client.send('GET', `${loadStatus}?simple`)) as Record<string, number>
}

async function missingReplicas(client: ClusterClient): Promise<Readonly<Record<string, number>>> {
  const byTier = (await client.send('GET', `${loadStatus}?full`)) as Record<string, Record<string, number>>
  const counts: Record<string, number> = {}
  for (const [name, count] of Object.values(byTier).flatMap((tier) => Object.entries(tier)))
    counts[name] = (counts[name] ?? 0) + count
  return counts
}

/** Auto-compaction has compacted everything that its configurations cover, and none of its tasks is left. */
export const compactionIsDone =
  (client: ClusterClient, dataSource: string | undefined): Condition =>
  async () => {
    const { latestStatus } = (await client.send('GET', '/svc/indexer/v1/compaction/status/datasources')) as {
      latestStatus: CompactionStatus[]
    }
    const statuses = latestStatus.filter(
      (status) => dataSource === undefined || status.dataSource === dataSource,
    )
    if (dataSource !== undefined && statuses.length === 0)
      return [`auto-compaction is not enabled for datasource [${dataSource}]`]
    const awaiting = statuses.filter(({ intervalCountAwaitingCompaction: count }) => count > 0)
    if (awaiting.length === 0) return await unfinishedTasks(client, dataSource, compactTaskType)
    return awaiting.map(
      ({ dataSource: name, intervalCountAwaitingCompaction: count }) =>
        `${countOf(count, 'interval')} of datasource [${name}] ${count === 1 ? 'awaits' : 'await'} compaction`,
    )
  }

/** No task is running, or waits to run. */
export const tasksAreDone =
  (client: ClusterClient, dataSource: string | undefined): Condition =>
  () =>
    unfinishedTasks(client, dataSource)

async function unfinishedTasks(
  client: ClusterClient,
  dataSource: string | undefined,
  type?: string,
): Promise<string[]> {
  const lists = await loadUnfinishedTasks(client, { type, dataSource })
  return lists
    .filter(({ tasks }) => tasks.length > 0)
    .map(
      ({ state, tasks: { length } }) => `${countOf(length, 'task')} ${length === 1 ? 'is' : 'are'} ${state}`,
    )
}
