import { useQuery } from '@tanstack/react-query'
import type { CallerAnswer } from '../answers/index.ts'
import { currentSession, fetchJson, hasCluster, send } from '../session/index.ts'
import { callWorker } from '../web-worker/index.ts'
import { retryMs } from './refetching.ts'

/** The inventory of the cluster in the worker, and its figures. */
export function useInventory() {
  const { data: caller } = useCaller()
  const canReadState = caller?.state.read
  return useQuery({
    queryKey: ['inventory', canReadState],
    queryFn: () => callWorker('refresh', { canReadState: canReadState === true }),
    enabled: canReadState !== undefined,
    refetchInterval: retryMs,
  })
}

/** What the user may do, in general and with one datasource. */
export const useCaller = (dataSource?: string) =>
  useQuery({
    queryKey: ['caller', dataSource],
    queryFn: () =>
      fetchJson<CallerAnswer>(
        `/svc/router/v1/caller${dataSource === undefined ? '' : `?dataSource=${encodeURIComponent(dataSource)}`}`,
      ),
    // The login has just asked for it.
    initialData: dataSource === undefined ? currentSession().caller : undefined,
    staleTime: 30_000,
    refetchInterval: retryMs,
  })

/** What the coordinator answers about the state of the cluster. */
export interface ClusterState {
  readonly known: boolean
  readonly settled: boolean
  readonly paused: boolean
  readonly reasons: readonly string[]
  readonly shortages: readonly string[]
}

/** Whether the leader knows the cluster, and whether anything is still moving. */
export const useClusterState = () =>
  useQuery({
    queryKey: ['clusterState'],
    queryFn: () => fetchJson<ClusterState>('/svc/coordinator/v1/clusterState'),
    refetchInterval: retryMs,
  })

/** The number of segments of datasources that no server serves yet; for users who may not read the state of the cluster. */
export const useSegmentsToLoad = (dataSources: readonly string[]) =>
  useQuery({
    queryKey: ['segmentsToLoad', dataSources],
    queryFn: () =>
      Promise.all(
        dataSources.map(async (name) => {
          const path = `/svc/coordinator/v1/datasources/${encodeURIComponent(name)}/loadstatus?simple`
          // There is no answer about a datasource without used segments.
          const left = await fetchJson<Readonly<Record<string, number>> | undefined>(path)
          return [name, left?.[name] ?? 0] as const
        }),
      ),
    refetchInterval: retryMs,
  })

/** A server of the cluster. */
export interface ClusterNode {
  readonly host: string
  readonly service: string
  readonly plaintextPort?: number
  readonly tlsPort?: number
}

/** The servers of the cluster by role. */
export const useClusterNodes = () =>
  useQuery({
    queryKey: ['nodes'],
    queryFn: () => fetchJson<Readonly<Record<string, readonly ClusterNode[]>>>('/svc/coordinator/v1/cluster'),
    refetchInterval: retryMs,
  })

/** The addresses of the leaders. */
export const useLeaders = () =>
  useQuery({
    queryKey: ['leaders'],
    queryFn: async () => {
      const paths = ['/svc/coordinator/v1/leader', '/svc/indexer/v1/leader']
      return await Promise.all(paths.map(async (path) => await (await send(path)).text()))
    },
    refetchInterval: retryMs,
  })

/** A server that loads segments. */
export interface DataServer {
  readonly host: string
  readonly tier: string
  readonly type: string
  readonly priority: number
  readonly currSize: number
  readonly maxSize: number
}

/** The servers that load segments. Brokers load only broadcast segments, and are left out if they have none. */
export const useDataServers = (isNeeded = true) =>
  useQuery({
    queryKey: ['servers'],
    queryFn: async () =>
      (await fetchJson<readonly DataServer[]>('/svc/coordinator/v1/servers?simple')).filter(
        ({ type, currSize }) => type !== 'broker' || currSize > 0,
      ),
    enabled: isNeeded,
    refetchInterval: retryMs,
  })

/** What a server has not loaded or dropped yet. */
export interface QueueSize {
  readonly segmentsToLoad: number
  readonly segmentsToDrop: number
  readonly segmentsToLoadSize: number
  readonly segmentsToDropSize: number
}

/** The load queues by server. */
export const useLoadQueues = () =>
  useQuery({
    queryKey: ['loadqueue'],
    queryFn: () => fetchJson<Readonly<Record<string, QueueSize>>>('/svc/coordinator/v1/loadqueue?simple'),
    refetchInterval: retryMs,
  })

/** How fast a server loads, and what it failed to load. */
export interface ServerActivity {
  /** Null if it was not measured. */
  readonly bytesPerSecond: number | null
  readonly failedLoads: number
  readonly lastError: string | null
}

/** The activity of servers by host; a snapshot has none. */
export const useServerActivity = () =>
  useQuery({
    queryKey: ['serverActivity'],
    queryFn: () =>
      fetchJson<Readonly<Record<string, ServerActivity>>>('/svc/coordinator/v1/servers/activity'),
    enabled: hasCluster(),
    refetchInterval: retryMs,
  })
